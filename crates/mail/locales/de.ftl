mail-code-subject = Ihr Anmeldecode
mail-code-lead = Sie melden sich bei { $service } an. Geben Sie diesen Code auf der Seite ein, die danach fragt:
mail-code-valid = Der Code gilt { $minutes } Minuten, nur auf dieser Seite.
mail-code-warning = Geben Sie diesen Code niemandem. Wenn Sie sich gerade nicht anmelden, ignorieren Sie diese Mail und ändern Sie Ihr Passwort bei Ihrem Identitätsanbieter: Eine andere Person kennt es.
mail-test-subject = Testmail
mail-test = Dies ist eine Testmail von { $hub }. Sie müssen nichts tun.
mail-address-kept = Ihre bestätigte E-Mail-Adresse, verschlüsselt: { $period } nach der letzten Verwendung.
