/* loss_terms.h - THE list of loss terms: X(name of the enum, name in logs, weight in the Config, network that
 * learns from it). A new term is a row here and its call in the losses of that network. Duration, pitch and
 * energy are in the order of Trait (ops.h). */
#ifndef MYXTTS_LOSS_TERMS_H
#define MYXTTS_LOSS_TERMS_H

#define LOSS_TERMS(X) \
    X(TERM_MEL, "mel", mel_loss_weight, NETWORK_VOICE) \
    X(TERM_ALIGN, "align", align_loss_weight, NETWORK_VOICE) \
    X(TERM_DURATION, "duration", duration_loss_weight, NETWORK_VOICE) \
    X(TERM_PITCH, "pitch", pitch_loss_weight, NETWORK_VOICE) \
    X(TERM_ENERGY, "energy", energy_loss_weight, NETWORK_VOICE) \
    X(TERM_CRITIC, "critic", critic_loss_weight, NETWORK_BOTH) \
    X(TERM_ADVERSARIAL, "adversarial", adversarial_loss_weight, NETWORK_BOTH) \
    X(TERM_FEATURES, "features", feature_loss_weight, NETWORK_BOTH) \
    X(TERM_SPECTRAL, "spectral", spectral_loss_weight, NETWORK_VOCODER)

#endif
