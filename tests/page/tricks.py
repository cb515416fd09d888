#!/usr/bin/env python3
"""Addresses that try to get out of the folder of trainings: tricks.py SERVER TOKEN_SERVER. Sent as they stand here, which no browser and
no library does. Prints `ok NAME` or `not ok NAME` lines."""
import http.client
import sys

TRICKS = """
/v1/runs/one/file?path=../../secret.json
/v1/runs/one/file?path=..%2F..%2Fsecret.json
/v1/runs/one/file?path=%2e%2e/%2e%2e/secret.json
/v1/runs/one/file?path=samples/../../../secret.json
/v1/runs/one/file?path=/etc/passwd
/v1/runs/one/file?path=//etc/passwd.json
/v1/runs/one/file?path=link.json
/v1/runs/one/file?path=pipe.json
/v1/runs/one/file?path=best.safetensors
/v1/runs/one/file?path=notes.json.txt
/v1/runs/one/file?path=secret.json%00.png
/v1/runs/one/file?path=..%5C..%5Csecret.json
/v1/runs/one/file?path=%ff%fe.json
/v1/runs/one/file?path=
/v1/runs/one/file
/v1/runs/../file?path=secret.json
/v1/runs/%2e%2e/file?path=secret.json
/v1/runs/..%2f..%2fetc/file?path=passwd.json
/v1/runs/up/file?path=secret.json
/v1/runs/up/log
/v1/runs/one%2f..%2f..%2f/files
/v1/runs//file?path=secret.json
/v1/runs/one/../../../secret.json
/v1/runs/nobody/log
/v1/runs/one/log?after=-1
/v1/runs/one/log?after=ten
/v1/runs/one/everything
/page/../runs/one/log.jsonl
/page/%2e%2e%2f%2e%2e%2fetc%2fpasswd
/page/
""".split()
failed = False


def verdict(name, why):
    global failed
    failed = failed or bool(why)
    print(f"{why}\nnot ok {name}" if why else f"ok {name}", flush=True)


def get(server, path):
    c = http.client.HTTPConnection(server.removeprefix("http://"), timeout=20)
    c.putrequest("GET", path, skip_host=False)
    c.endheaders()
    r = c.getresponse()
    return r.status, r.read(), r.headers


server, token_server = sys.argv[1:3]
bad = []
for trick in TRICKS:
    status, body, _ = get(server, trick)
    if status not in (400, 404) or b"secret beside" in body or b"root:" in body or b'"error"' not in body:
        bad.append((trick, status, body[:100]))
verdict(f"{len(TRICKS)}_path_tricks_are_refused", bad)
status, body, _ = get(server, "/v1/runs")
verdict("and_the_server_goes_on", "" if status == 200 and b'"name":"two"' in body else (status, body))
statuses = [get(token_server, path)[0] for path in ("/v1/runs", "/v1/runs/one/log", "/v1/runs/one/file?path=loss.png", "/", "/runs", "/page/runs.js")]
verdict("trainings_want_the_token_and_the_page_does_not", "" if statuses == [401, 401, 401, 200, 200, 200] else statuses)
policy = get(server, "/")[2]["Content-Security-Policy"]
verdict("the_page_forbids_other_hosts", "" if policy.startswith("default-src 'none'; script-src 'self'") and "http" not in policy else policy)
sys.exit(1 if failed else 0)
