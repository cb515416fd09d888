"""Builds the wheel and the source archive of the package: PEP 517, with the standard library alone, so that no network is needed.

The wheel takes libmyxtts.so and libmyxtts_cuda.so from ../build along where they have been built, and is then one for this machine's
architecture. MYXTTS_BUNDLE=0 leaves them out: the package then looks for the library where it is installed. MYXTTS_BUNDLE=FOLDER takes a
folder of tools/pack/bundle.sh instead, whose program becomes the command `myxtts`; MYXTTS_PLATFORM then says for which machines it is, and MYXTTS_VARIANT
what is added to the version. `make wheel` does that.
"""
import base64
import hashlib
import io
import os
import re
import sysconfig
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(HERE), "build")
LIBRARIES = ("libmyxtts.so", "libmyxtts_cuda.so")
MODULE = "myxtts"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files give the same wheel


def _project(key, file="pyproject.toml"):
    with open(os.path.join(HERE, file), encoding="utf-8") as f:
        return re.search(rf'^{key} = "(.*)"$', f.read(), re.M).group(1)


def _version():
    return _project("__version__", os.path.join(MODULE, "__init__.py")) + os.environ.get("MYXTTS_VARIANT", "")


def _metadata():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return (f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: {_version()}\nSummary: {_project('description')}\n"
            f"License: GPL-3.0-or-later\nRequires-Python: {_project('requires-python')}\nRequires-Dist: numpy\n"
            f"Description-Content-Type: text/markdown\n\n{readme}").encode()


def _sources():
    folder = os.path.join(HERE, MODULE)
    return [os.path.join(MODULE, name) for name in sorted(os.listdir(folder)) if name.endswith((".py", ".typed"))]


def _bundled(root):
    """The files of a bundle and where the wheel has them: in the package, but for those that man and the shells look for."""
    contents = {f"{MODULE}-{_version()}.data/scripts/myxtts": _read(os.path.join(HERE, "command.py"))}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            place = os.path.relpath(path, root)
            inside = not place.startswith(("share/man/", "share/bash-completion/", "share/zsh/", "share/fish/"))
            contents[f"{MODULE}/{place}" if inside else f"{MODULE}-{_version()}.data/data/{place}"] = _read(path)
    return dict(sorted(contents.items()))


def _libraries():
    if os.environ.get("MYXTTS_BUNDLE") == "0" or not os.path.exists(os.path.join(BUILD, LIBRARIES[0])):
        return []
    return [os.path.join(BUILD, name) for name in LIBRARIES if os.path.exists(os.path.join(BUILD, name))]


def _tag(libraries):
    platform = re.sub(r"[^a-z0-9_]", "_", sysconfig.get_platform()) if libraries else "any"
    return f"py3-none-{platform}"


def _write_wheel(folder, contents, tag):
    info = f"{MODULE}-{_version()}.dist-info"
    pure = "true" if tag.endswith("-any") else "false"
    contents = dict(contents)
    contents[f"{info}/METADATA"] = _metadata()
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: {MODULE}\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for name, data in contents.items())
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"{MODULE}-{_version()}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100755 if name.endswith((".so", "/bin/myxtts", "/scripts/myxtts")) else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
    return wheel


def _read(path):
    with open(path, "rb") as f:
        return f.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    contents = {name: _read(os.path.join(HERE, name)) for name in _sources()}
    bundle = os.environ.get("MYXTTS_BUNDLE", "0")
    if bundle != "0":
        contents.update(_bundled(bundle))
        return _write_wheel(wheel_directory, contents, f"py3-none-{os.environ['MYXTTS_PLATFORM']}")
    libraries = _libraries()
    contents.update({f"{MODULE}/{os.path.basename(path)}": _read(path) for path in libraries})
    return _write_wheel(wheel_directory, contents, _tag(libraries))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, {f"_{MODULE}.pth": f"{HERE}\n".encode()}, "py3-none-any")


def build_sdist(sdist_directory, config_settings=None):
    base = f"{MODULE}-{_version()}"
    archive = f"{base}.tar.gz"
    with tarfile.open(os.path.join(sdist_directory, archive), "w:gz", format=tarfile.PAX_FORMAT) as t:
        contents = {name: _read(os.path.join(HERE, name)) for name in ["pyproject.toml", "README.md", "backend.py", "command.py"] + _sources()}
        contents["PKG-INFO"] = _metadata()
        for name, data in contents.items():
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size = len(data)
            t.addfile(entry, io.BytesIO(data))
    return archive
