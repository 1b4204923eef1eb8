### What a person reads. Short sentences, no protocol words.
### One word for one thing: „Dienst“ (who asks), „Konto“ (what you sign in with),
### „Anbieter“ (who runs the account), „Anmeldung“.

footer-label = Nützliche Links
language-name = Deutsch
language-label = Sprache
language-go = Sprache wechseln

## Dates

month-1 = Januar
month-2 = Februar
month-3 = März
month-4 = April
month-5 = Mai
month-6 = Juni
month-7 = Juli
month-8 = August
month-9 = September
month-10 = Oktober
month-11 = November
month-12 = Dezember
date-day = { $day }. { $month } { $year }
date-month = { $month } { $year } (Tag unbekannt)
date-year = { $year } (Tag und Monat unbekannt)
date-time = { $date } um { $time } Uhr (UTC)

## Choice of the account

choice-title = Wählen Sie ein Konto
choice-title-service = Anmelden bei „{ $service }“
choice-lead = Wählen Sie das Konto, das Sie verwenden möchten.
site-line = Mit „{ $hub }“ melden Sie sich bei Diensten mit einem Konto an, das Sie bereits haben.
choice-asks = „{ $service }“ bittet Sie, sich anzumelden.
level-eidas1 = Ihr gewohntes Konto genügt.
level-eidas2 = Dieser Dienst verlangt eine stärkere Anmeldung mit zwei Nachweisen, zum Beispiel einem Passwort und Ihrem Telefon.
level-eidas3 = Dieser Dienst verlangt die sicherste Anmeldung, zum Beispiel mit einem elektronischen Ausweis.
choice-accounts = Verfügbare Konten
choice-banner = Die Anmeldung mit „{ $provider }“ hat nicht funktioniert.
choice-stopped = Die Anmeldung mit „{ $provider }“ wurde abgebrochen.
choice-stopped-next = An den Dienst wurde nichts übermittelt. Wählen Sie dieses Konto erneut oder ein anderes.
choice-less-safe = Die Anmeldung mit „{ $provider }“ war für diesen Dienst nicht sicher genug.
choice-less-safe-next = An den Dienst wurde nichts übermittelt. Wählen Sie ein anderes Konto oder dieses noch einmal mit einem sichereren Anmeldeverfahren, falls es eines anbietet.
choice-not-me = Sie haben angegeben, dass Sie das nicht waren. An den Dienst wurde nichts übermittelt.
choice-not-me-next = „{ $provider }“ kennt möglicherweise noch die andere Person: Wenn ihr Name wieder erscheint, melden Sie sich bei „{ $provider }“ ab und kommen Sie dann zurück.
choice-search = Konto nach Namen suchen
choice-search-go = Suchen
choice-found-none = Kein verfügbares Konto passt zu „{ $query }“.
choice-show-all = Alle Konten anzeigen
choice-total = { $total } Konten stehen zur Auswahl. Suchen Sie Ihr Konto nach Namen.
choice-range = Konten { $first } bis { $last } von { $total }
choice-found = { $total ->
    [one] { $total } Konto gefunden
   *[other] { $total } Konten gefunden
}
choice-email = E-Mail-Adresse
choice-email-use = Nur der Teil nach dem @ wird verwendet, um zu finden, wo Sie sich anmelden. Die Adresse wird nicht gespeichert.
choice-email-go = Weiter
choice-email-list = Stattdessen aus der Liste wählen
choice-email-again = Stattdessen E-Mail-Adresse eingeben
choice-email-malformed = Geben Sie eine vollständige E-Mail-Adresse ein, zum Beispiel name@example.org.
choice-email-found = Konten für Adressen mit der Endung „{ $domain }“:
choice-email-unknown = Für Adressen mit der Endung „{ $domain }“ ist kein Konto bekannt. Wählen Sie ein Konto aus der Liste.
choice-last-used = Zuletzt verwendet
choice-forget = Dieses Konto nicht merken
choice-others = Andere Konten
choice-see-category = { $category }: alle { $total } Konten anzeigen
choice-letters = Konten nach Anfangsbuchstaben
choice-pages = Seiten der Liste
choice-previous = Vorherige Konten
choice-next = Nächste Konten
choice-none = Zurzeit ist kein Konto verfügbar.
choice-no-account = Ich habe keines dieser Konten
choice-unavailable = Zurzeit nicht verfügbar
choice-recent-trouble = Hatte eben eine Störung
choice-unavailable-more = { $total ->
    [one] Und { $total } weiteres: Suchen Sie nach seinem Namen, um den Grund zu erfahren.
   *[other] Und { $total } weitere: Suchen Sie nach einem Namen, um den Grund zu erfahren.
}
choice-cancel = Abbrechen und zurück zu „{ $service }“
why-too-low = Anmeldung für diesen Dienst nicht sicher genug
why-no-reauthentication = Bietet die erneute Anmeldung nicht, die dieser Dienst verlangt
why-not-for-service = Für diesen Dienst nicht verwendbar
why-in-trouble = Zurzeit gestört
why-off = Zurzeit abgeschaltet
why-blocked = Zurzeit ausgesetzt

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Anmelden mit „{ $provider }“
sign-in-username = Benutzername
sign-in-password = Passwort
sign-in-show = Passwort anzeigen
sign-in-hide = Passwort verbergen
sign-in-forgotten = Ich habe mein Passwort vergessen
sign-in-whose = Geben Sie das Passwort ein, das Sie bei „{ $provider }“ verwenden, und kein anderes. Es wird dort geprüft und hier nirgends gespeichert.
sign-in-go = Anmelden
sign-in-other = Anderes Konto wählen
sign-in-empty = Geben Sie Ihren Benutzernamen und Ihr Passwort ein.
sign-in-wrong = Der Benutzername oder das Passwort ist falsch, oder das Konto ist vorübergehend gesperrt.
sign-in-last = Sie haben noch einen Versuch. Ist auch er falsch, müssen Sie vor dem nächsten warten.
sign-in-wait = { $minutes ->
    [one] Es gab zu viele Fehlversuche. Warten Sie eine Minute und versuchen Sie es dann erneut.
   *[other] Es gab zu viele Fehlversuche. Warten Sie { $minutes } Minuten und versuchen Sie es dann erneut.
}
sign-in-new-password = Neues Passwort festlegen
password-title = Ihr Passwort
password-must-change = Ihr Passwort wird akzeptiert, aber Sie müssen es ändern.
password-sign-ins-left = Ihr Passwort ist abgelaufen. Ändern Sie es jetzt. Verbleibende Anmeldungen damit: { $count }.
password-expires = Ihr Passwort läuft bald ab. Ändern Sie es rechtzeitig. Verbleibende Tage: { $days }.
password-where = Sie können es bei „{ $provider }“ ändern.

## A code by mail

mail-page-title = Geben Sie den Code ein, den wir Ihnen per E-Mail geschickt haben
mail-page-sent = Wir haben einen Code an { $address } geschickt. Er ist zehn Minuten gültig.
mail-page-why = „{ $service }“ verlangt diesen Code zusätzlich zu Ihrem Passwort.
mail-page-code = Sechsstelliger Code
mail-page-go = Weiter
mail-page-wrong = Dieser Code ist falsch. Verbleibende Versuche: { $count }.
mail-page-expired = Dieser Code ist nicht mehr gültig. Fordern Sie einen neuen an.
mail-page-missing = Nach einer Minute noch keine E-Mail? Sehen Sie auch im Spam-Ordner nach oder fordern Sie einen neuen Code an.
mail-page-resend = Neuen Code senden
mail-page-reload = Neuer Code in einer Minute möglich: Seite neu laden
mail-page-unreadable = Ich habe keinen Zugriff auf dieses Postfach

## What is sent

inform-title = Ihre Daten für diesen Dienst
inform-lead = „{ $service }“ erhält diese Daten:
inform-why = „{ $service }“ bittet um diese Daten, um zu wissen, wer Sie sind. Bevor Sie fortfahren, wird nichts gesendet.
inform-go = Weiter zu „{ $service }“
inform-cancel = Nicht fortfahren
consent-title = Stimmen Sie der Übermittlung dieser Daten zu?
consent-lead = „{ $service }“ bittet um diese Daten:
consent-yes = Ja, ich stimme zu
consent-no = Nein, ich lehne ab
consent-person = Sie melden sich an als
consent-not-me = Das bin ich nicht
consent-pseudonym = „{ $service }“ erhält weder Ihren Namen noch andere Daten. Der Dienst bekommt nur eine eigens für ihn erzeugte Nummer, um Sie beim nächsten Mal wiederzuerkennen.
consent-source-register = Diese Daten stammen aus dem nationalen Personenregister und aus Ihrem Konto „{ $provider }“.
consent-source-provider = Diese Daten stammen aus Ihrem Konto „{ $provider }“.
consent-account = Sie sind mit Ihrem Konto „{ $provider }“ angemeldet.
consent-offline = „{ $service }“ kann sie auch später erneut erhalten, wenn Sie nicht anwesend sind.
value-none = nicht angegeben
value-code = Code { $code }
country-99100 = Frankreich
claim-given-names = Vornamen
claim-family-name = Geburtsname
claim-birthdate = Geburtsdatum
claim-gender = Geschlecht
claim-birthplace = Geburtsort
claim-birthcountry = Geburtsland
claim-preferred-username = Aktueller Name
claim-email = E-Mail-Adresse
claim-name = Vollständiger Name
claim-middle-name = Zweiter Vorname
claim-nickname = Spitzname
claim-profile = Profilseite
claim-picture = Foto
claim-website = Website
claim-zoneinfo = Zeitzone
claim-locale = Sprache
claim-updated-at = Letzte Änderung des Profils
claim-email-verified = E-Mail-Adresse bestätigt
claim-phone-number = Telefonnummer
claim-phone-number-verified = Telefonnummer bestätigt
claim-address = Postanschrift
value-yes = Ja
value-no = Nein
gender-female = weiblich
gender-male = männlich
gender-unspecified = ohne Angabe

## Errors: what happened

error-bad-request = Die Anfrage des Dienstes ist fehlerhaft.
error-not-found = Diese Seite gibt es nicht.
error-method = Diese Seite kann so nicht verwendet werden.
error-timeout = Die Anfrage kam nicht rechtzeitig an.
error-too-large = Die Anfrage ist zu groß.
error-unknown-host = Das ist nicht die richtige Adresse.
error-internal = Bei uns ist ein Fehler aufgetreten.
error-unavailable = Wir sind für kurze Zeit nicht verfügbar.
error-busy = Zurzeit melden sich zu viele Personen an.
error-network-limited = Aus Ihrem Netzwerk wurden innerhalb einer Minute zu viele Anmeldungen begonnen.
error-service-limited = Der Dienst hat innerhalb einer Minute zu viele Anmeldungen begonnen.
error-register = Das nationale Personenregister konnte Ihre Identität nicht bestätigen.
error-register-unavailable = Das nationale Personenregister antwortet nicht.
error-identity-incomplete = In Ihrem Konto fehlt eine erforderliche Angabe.
error-identity-malformed = Eine Angabe in Ihrem Konto ist nicht lesbar.
error-idp-unavailable = Dieses Konto kann nicht verwendet werden.
error-idp-trouble = Der Anbieter dieses Kontos hat ein technisches Problem.
error-hub-clock = Die Uhr dieser Anmeldeseite geht falsch, deshalb können Sie sich zurzeit nicht anmelden. Der Betreiber muss sie richtigstellen.
error-idp-busy = Zurzeit melden sich zu viele Personen beim Anbieter dieses Kontos an.
error-idp-denied = Die Anmeldung wurde vorzeitig abgebrochen.
error-password-change = Ihr Passwort ist richtig, aber Sie müssen es ändern, bevor Sie sich hier anmelden können.
error-account-disabled = Ihr Passwort ist richtig, aber dieses Konto ist geschlossen oder abgelaufen. Bitte wenden Sie sich an den Anbieter dieses Kontos.
error-account-hours = Ihr Passwort ist richtig, aber dieses Konto kann zu dieser Uhrzeit nicht benutzt werden. Versuchen Sie es später erneut, oder wenden Sie sich an den Anbieter dieses Kontos.
error-account-not-permitted = Ihr Passwort ist richtig, aber dieses Konto darf sich hier nicht anmelden. Bitte wenden Sie sich an den Anbieter dieses Kontos.
error-account-refused = Ihr Passwort wurde nicht geprüft, weil dieses Konto nicht benutzt werden kann: Es ist vielleicht gesperrt oder geschlossen. Bitte wenden Sie sich an den Anbieter dieses Kontos.
error-assurance = Die Anmeldung ist für diesen Dienst nicht sicher genug.
error-login-unknown = Diese Anmeldung gibt es nicht oder nicht mehr.
error-login-other-browser = Diese Anmeldung wurde in einem anderen Browser begonnen, oder dieser Browser hat seine Cookies verloren.
error-idp-answer = Die Antwort des Anbieters dieses Kontos ist nicht verwendbar.
error-login-order = Sie haben in einem anderen Tab weitergemacht.
error-login-done = Diese Anmeldung ist bereits abgeschlossen.
error-login-expired = Diese Anmeldung hat zu lange gedauert.
error-login-too-many = Diese Anmeldung wurde beendet, weil zu viele offen waren.
error-repeated-cookie = Ihr Browser hat ein Cookie dieser Website zweimal gesendet. Aus Sicherheitsgründen ist nichts geschehen.
error-idp-blocked = Die Anmeldung mit diesem Konto ist zurzeit ausgesetzt.
error-idp-blocked-for-service = Die Anmeldung bei diesem Dienst mit diesem Konto ist zurzeit ausgesetzt.
error-idp-reauthentication = Dieser Dienst verlangt, dass Sie sich erneut anmelden, und dieses Konto kann das nicht nachweisen.
error-redirect-withdrawn = Der Dienst hat während Ihrer Anmeldung seine Adresse geändert. Es wurde nichts an ihn gesendet.
error-scope-withdrawn = Der Dienst darf diese Daten nicht mehr erhalten.
error-gate = Dieses Konto kann für diesen Dienst nicht verwendet werden.
error-login-interrupted = Die Anmeldung wurde unterbrochen.
error-cancelled = Sie haben die Anmeldung abgebrochen.
error-refused = Sie haben die Übermittlung Ihrer Daten abgelehnt.
error-login-required = Melden Sie sich an, um fortzufahren.
error-consent-required = Um fortzufahren, ist Ihre Zustimmung nötig.
error-mail-address = Für diese Anmeldung ist ein Code per E-Mail nötig, aber Ihr Konto enthält keine E-Mail-Adresse.
error-mail-address-unusable = Für diese Anmeldung ist ein Code per E-Mail nötig, aber an die E-Mail-Adresse Ihres Kontos können wir nichts senden.
error-mail-unreadable = Für die Anmeldung mit diesem Konto brauchen Sie den Code, den wir per E-Mail senden.
error-mail-code-wrong = Es wurden zu viele falsche Codes eingegeben.
error-mail-limited = Für dieses Konto wurden zu viele Codes gesendet oder eingegeben. Versuchen Sie es später erneut.
error-mail-unavailable = Wir können Ihnen zurzeit keinen Code per E-Mail senden.
error-csrf = Aus Sicherheitsgründen wurde dieses Formular nicht angenommen.

## Errors: who can fix it, and what to do next

responsible-user = Es ist nichts verloren: Sie können neu beginnen.
responsible-user-other = Sie können sich mit einem anderen Konto anmelden oder zum Dienst zurückkehren.
responsible-register = Die Angaben Ihres Kontos weichen möglicherweise vom Register ab, zum Beispiel Ihre Namen oder Ihr Geburtsdatum. Bitten Sie den Anbieter Ihres Kontos, sie zu prüfen, oder verwenden Sie ein anderes Konto.
register-correction = Wenn das Register selbst falsch ist, wird es hier berichtigt:
responsible-identity = Bitten Sie den Anbieter Ihres Kontos, diese Angabe zu ergänzen oder zu berichtigen, oder verwenden Sie ein anderes Konto.
responsible-mailbox = Gehört dieses Postfach nicht mehr Ihnen, fordern Sie Hilfe an: Die alte Adresse kann entfernt werden.
responsible-cookies = Erlauben Sie Cookies für diese Website. Kehren Sie dann zur Website des Dienstes zurück und melden Sie sich erneut an, ohne den Browser zu wechseln.
responsible-repeated-cookie = Öffnen Sie ein privates Fenster Ihres Browsers, gehen Sie zur Website des Dienstes und melden Sie sich dort an. Damit ein normales Fenster wieder funktioniert, löschen Sie in den Einstellungen Ihres Browsers die Cookies dieser Website.
responsible-newer-tab = Fahren Sie in dem Tab oder Fenster fort, das Sie zuletzt geöffnet haben. Dieses können Sie schließen.
responsible-connection = Ihre Internetverbindung ist möglicherweise langsam. Prüfen Sie sie und versuchen Sie es dann erneut.
responsible-user-continue = Es ist nichts verloren: Sie können fortfahren.
responsible-other-tab = Was Sie hier getan haben, gehört zu einem früheren Schritt. Es ist nichts verloren: Fahren Sie hier fort oder im anderen Tab.
responsible-finished = Sie haben sie hier oder in einem anderen Tab abgeschlossen. Sie können diese Seite schließen. Um sich erneut anzumelden, beginnen Sie beim Dienst.
retry-later = Es ist nichts verloren. Versuchen Sie es in einigen Minuten erneut.
retry-wait = { $seconds ->
    [one] Es ist nichts verloren. Sie können es in { $seconds } Sekunde erneut versuchen.
   *[other] Es ist nichts verloren. Sie können es in { $seconds } Sekunden erneut versuchen.
}
retry-auto = Diese Seite versucht es dann von selbst erneut.
retry-auto-later = Diese Seite versucht es auch einige Male von selbst.
retry-stop = Nicht von selbst versuchen
responsible-service = Nur der Dienst, von dem Sie kommen, kann das beheben. Teilen Sie ihm die Angaben unten auf dieser Seite mit.
responsible-provider = Der Anbieter Ihres Kontos muss das beheben. Teilen Sie ihm die Angaben unten auf dieser Seite mit. Mit einem anderen Konto kann es funktionieren.
responsible-answer = Der Fehler liegt nicht beim Dienst: Der Anbieter des Kontos hat eine falsche Antwort gesendet oder eine Antwort auf einen früheren Versuch. Sie können Ihre Anmeldung fortsetzen; mit einem anderen Konto kann es funktionieren.
responsible-answer-alone = Der Fehler liegt nicht beim Dienst: Der Anbieter des Kontos hat eine falsche Antwort gesendet, und in diesem Browser läuft keine Anmeldung. Sie können diese Seite schließen und dann zur Website des Dienstes zurückkehren.
responsible-operator = Es liegt an uns, das zu beheben. Versuchen Sie es in einigen Minuten erneut.
error-no-way = Sie können diese Seite schließen und dann zur Website des Dienstes zurückkehren.
support-link = Hilfe anfordern
error-claim = Betroffene Angabe: { $claim }.
error-service = Dienst: „{ $service }“
error-account = Konto: „{ $provider }“
action-again = Erneut versuchen
action-continue = Anmeldung fortsetzen
action-other = Anderes Konto wählen
action-service = Zurück zu „{ $service }“
action-service-unnamed = Zurück zum Dienst
action-home = Bei „{ $service }“ neu beginnen
action-home-unnamed = Beim Dienst neu beginnen
action-sign-out = Hier abmelden
refs-title = Angaben für den Support
refs-code = Code
refs-precise = Zweiter Code
refs-support = Vorgangsnummer
refs-time = Zeitpunkt
refs-developer = Für das technische Team des Dienstes

## Return to the service, signed out

return-title = Zurück zum Dienst
return-lead = Sie kehren zu „{ $service }“ zurück. Wenn nichts geschieht, verwenden Sie die Schaltfläche.
return-go = Weiter
log-out-title = Möchten Sie sich abmelden?
log-out-requested = „{ $service }“ bittet Sie, sich abzumelden.
log-out-account = Sie sind hier mit Ihrem Konto „{ $provider }“ angemeldet. Nach der Abmeldung wird jeder Dienst Sie bitten, sich erneut anzumelden.
log-out-no-session = In diesem Browser ist hier anscheinend niemand angemeldet. Um sicherzugehen, können Sie sich trotzdem abmelden.
log-out-go = Abmelden
log-out-stay = Angemeldet bleiben und zurück zu „{ $service }“
log-out-close = Um angemeldet zu bleiben, schließen Sie einfach diese Seite.
landing-title = Eine Anmeldung für viele Dienste
landing-go = Auf dieser Seite melden Sie sich nicht an. Gehen Sie zur Website des Dienstes, den Sie nutzen möchten, und wählen Sie dort die Anmeldung: Sie werden dann hierher geleitet.
landing-shared = Haben Sie ein gemeinsam genutztes Gerät verwendet? Melden Sie sich hier ab, bevor Sie es verlassen.
logged-out-title = Sie sind abgemeldet
logged-out-lead = Ihre Anmeldung hier ist beendet.
logged-out-provider = Sie sind auch von Ihrem Konto „{ $provider }“ abgemeldet.
logged-out-services = Dienste, die Sie genutzt haben, lassen Sie möglicherweise noch angemeldet. Melden Sie sich auch bei jedem davon ab:
logged-out-unreached = „{ $provider }“ konnte nicht benachrichtigt werden. Melden Sie sich sicherheitshalber auch dort ab oder schließen Sie Ihren Browser.
logged-out-start = Zur Startseite

## Sandbox

sandbox-ribbon = Testumgebung: Hier ist nichts echt
sandbox-title = Wer möchten Sie sein?
sandbox-lead = „{ $provider }“ ist ein Testkonto. Wählen Sie eine Person und was geschehen soll.
sandbox-person = Person
sandbox-level = Sicherheit der Anmeldung
sandbox-level-too-low = Niedriger als verlangt: wird abgelehnt
sandbox-methods = Verwendete Mittel
sandbox-failure = Was soll geschehen?
sandbox-go = Anmelden

## Demonstration service

demo-title = Eine Anmeldung ausprobieren
demo-lead = Dieser erfundene Dienst zeigt eine ganze Anmeldung und dann alles, was er erhalten hat. Keine Daten sind echt.
demo-step-1 = Sie wählen ein Testkonto.
demo-step-2 = Sie wählen, wer Sie sind.
demo-step-3 = Sie sehen, was der Dienst erhält.
demo-standard = Standardplattform
demo-standard-lead = Die Identität stammt aus dem nationalen Personenregister. Die Token sind signiert.
demo-high = Plattform für höhere Niveaus
demo-high-lead = Die Identität stammt vom Anbieter des Kontos. Die Token sind signiert und dann verschlüsselt: Nur dieser Dienst kann sie lesen.
demo-sign-in-eidas1 = Anmelden, Niveau niedrig (eidas1)
demo-sign-in-eidas2 = Anmelden, Niveau substanziell (eidas2)
demo-sign-in-eidas3 = Anmelden, Niveau hoch (eidas3)
demo-in-title = Sie sind angemeldet
demo-in-lead = Das ist alles, was der Dienst erhalten und geprüft hat.
demo-claims = Erhaltene Daten
demo-in-encrypted = Beide Token kamen verschlüsselt an; der private Schlüssel des Dienstes hat sie entschlüsselt.
demo-id-token = ID-Token
demo-jwe-header = Header der Verschlüsselung (JWE)
demo-header = Header der Signatur (JWS)
demo-payload = Inhalt
demo-userinfo = Daten der Person (userinfo)
demo-data = Was ein Datenanbieter erfährt
demo-data-lead = Der Dienst hat den Datenanbieter mit dem Access-Token aufgerufen, und dieser hat den Hub gefragt, wem das Token gehört.
demo-token-answer = Antwort des Token-Endpunkts
demo-sign-out = Abmelden
demo-sign-in-again = Erneut anmelden
demo-error-title = Die Anmeldung ist fehlgeschlagen
demo-error-lead = Der Dienst hat statt einer Anmeldung diese Antwort erhalten.
demo-wallet-title = Demo-Wallet
demo-wallet-lead = Die Dokumente dieser Wallet sind erfunden. „{ $hub }“ bittet um:
demo-wallet-agree = Zustimmen und senden
demo-wallet-decline = Ablehnen
demo-error-code = Fehler
demo-error-description = Beschreibung
demo-refused-lead = Der Dienst hat eine Antwort erhalten, der er nicht vertrauen kann, oder gar keine. Er hat nichts davon verwendet.
demo-refused-reason = Grund
sandbox-level-eidas1 = Niedrig (eidas1)
sandbox-level-eidas2 = Substanziell (eidas2)
sandbox-level-eidas3 = Hoch (eidas3)
sandbox-failure-none = Alles geht gut
sandbox-failure-cancel = Die Person bricht ab
sandbox-failure-error = Beim Anbieter des Kontos tritt ein Fehler auf
sandbox-failure-missing-claim = Die Identität kommt ohne Geburtsdatum an
sandbox-failure-unknown-person = Das Register kennt diese Person nicht
sandbox-failure-level-too-low = Die Anmeldung ist weniger sicher als verlangt
demo-sign-in-consent = Anmelden und zustimmen (eidas1)
demo-methods = Wie sich die Person angemeldet hat
demo-method-mark = Kennzeichen des Hubs
demo-out-title = Sie sind abgemeldet
demo-out-lead = Was beendet ist, soweit ein Dienst das wissen kann:
demo-out-service = Dieser Dienst: Seine Sitzung ist beendet.
demo-out-hub = Der Hub: Seine Sitzung ist beendet. Er hat Ihren Browser mit dem „state“ dieser Abmeldung zurückgeschickt.
demo-out-hub-unknown = Der Hub: nicht bekannt. Er hat Ihren Browser nicht zurückgeschickt.
demo-out-provider = Der Anbieter des Kontos: Der Hub schickt Ihren Browser zur Abmeldung dorthin, wo das möglich ist. Ein Dienst erhält davon keine Bestätigung.
demo-out-provider-unknown = Der Anbieter des Kontos: nicht bekannt.
demo-next = Als Nächstes ansehen:
demo-next-start = Melden Sie sich an. Bei der Wahl des Kontos ist eines gesperrt und eines nicht erreichbar: Sehen Sie, was der Person gezeigt wird. Mehr dazu in { $page }
demo-next-in = Die Betreiberkonsole zählt diese Anmeldung und zeigt keinen Namen. Wie Sie sich aus einer eigenen Anwendung anmelden, steht in { $page }
demo-next-out = Melden Sie sich erneut an: Sie wählen wieder Konto und Person, denn es gibt keine Sitzung mehr. Mehr dazu in { $page }
demo-next-error = Hat eine Seite eine Vorgangsnummer gezeigt, suchen Sie sie in der Betreiberkonsole. Alle Fehlercodes stehen in { $page }
demo-console-standard = Betreiberkonsole, Standard
demo-console-high = Betreiberkonsole, höhere Niveaus
sandbox-next = Wählen Sie unter „Was soll geschehen?“ einen Fehler und sehen Sie, was die Person und der Dienst erhalten. Mehr dazu in { $page }
method-pwd = Passwort
method-pin = PIN
method-kba = Persönliche Fragen
method-otp = Einmalcode
method-sms = SMS
method-tel = Telefonanruf
method-hwk = Hardwareschlüssel
method-swk = Softwareschlüssel
method-sc = Chipkarte
method-pop = Nachweis eines Schlüssels
method-face = Gesicht
method-fpt = Fingerabdruck
method-iris = Iris
method-retina = Netzhaut
method-vbm = Stimme
method-mail = E-Mail
method-geo = Standort
method-mca = Mehrere Kanäle
method-rba = Risikobewertung
method-user = Anwesenheit der Person
method-wia = Windows-Anmeldung
method-mfa = Mehrere Faktoren

# What the operator has to say to everybody
notice-warning = Wichtig:
notice-more = Mehr erfahren

## The pages about an OAuth error, for developers

oauth-error-title = Der Fehler { $error }
oauth-error-lead = Diese Seite richtet sich an alle, die einen Dienst entwickeln oder betreiben. Der Hub hat eine Anfrage des Servers des Dienstes mit diesem Fehler beantwortet. Wenn Sie sich nur anmelden wollten, kehren Sie zum Dienst zurück.
oauth-error-causes = Mögliche Ursachen und was zu tun ist
oauth-error-precise = Diese Seite ist für jede dieser Ursachen gleich, damit sie nichts über einen Dienst verrät; error_description sagt manchmal mehr. Der Betreiber des Hubs kann mit der Uhrzeit und Ihrer client_id die genaue Ursache im Protokoll finden.
oauth-error-documentation = Dokumentation für Dienste
oauth-error-invalid-request =
    Ein Parameter fehlt, ist leer oder wurde zweimal gesendet: error_description nennt ihn. Senden Sie ihn einmal.
    Der Body ist kein Formular: Senden Sie ihn als application/x-www-form-urlencoded.
    Der Client authentifiziert sich auf zwei Arten, zum Beispiel im Header und im Body: Verwenden Sie nur die registrierte.
oauth-error-invalid-client =
    Der Client authentifiziert sich mit einer anderen Methode als der registrierten. Viele Bibliotheken senden das Secret im Header; der Hub erwartet standardmäßig client_secret_post, im Body.
    Das Secret ist falsch, abgelaufen oder noch nicht gültig. Vergleichen Sie es, ohne Leerzeichen davor und danach, und bitten Sie den Betreiber bei Bedarf um ein neues.
    Die client_id ist hier unbekannt oder abgeschaltet: Jede Plattform und jede Umgebung hat ihre eigene.
    Eine signierte Assertion wird nicht akzeptiert: Prüfen Sie ihren Schlüssel, aud (den Issuer), exp und dass jti neu ist.
oauth-error-invalid-grant =
    Der Code ist zu alt oder wurde bereits verwendet: Lösen Sie ihn einmal ein, sobald er ankommt.
    Die redirect_uri weicht von derjenigen der Autorisierungsanfrage ab.
    Der code_verifier gehört zu einer anderen Anmeldung: Bewahren Sie ihn in der Sitzung des Browsers auf, der die Anmeldung begonnen hat.
    Der Code wurde für einen anderen Client ausgestellt, oder die Person hat sich inzwischen abgemeldet.
oauth-error-unsupported-grant-type =
    grant_type muss authorization_code sein, oder refresh_token, wenn der Dienst für Refresh-Token registriert ist. Ohne Refresh-Token beginnen Sie eine neue Anmeldung: Mit prompt=none zeigt sie keine Seite, solange die Sitzung dauert.
oauth-error-temporarily-unavailable =
    Der Hub ist überlastet oder kann die Schlüssel unter Ihrer jwks_uri nicht abrufen: Versuchen Sie es in Kürze erneut, oder nach der Zeit in Retry-After, wenn die Antwort es enthält.
    Mit Ihrer client_id sind zu viele Authentifizierungen fehlgeschlagen: Berichtigen Sie die Zugangsdaten und warten Sie dann.
oauth-error-server-error =
    Im Hub ist ein interner Fehler aufgetreten: Nennen Sie seinem Betreiber die Uhrzeit und Ihre client_id.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = Was macht der Hub mit dieser Anfrage?
diagnostics-lead = Fügen Sie die Adresse ein, an die Ihr Dienst den Browser sendet. Der Hub erklärt jeden Parameter und beginnt keine Anmeldung.
diagnostics-result = Ergebnis
diagnostics-parameters = Parameter für Parameter
diagnostics-url = Adresse der Autorisierungsanfrage
diagnostics-help = Von https:// bis zum letzten Parameter. Sie wird nicht gespeichert und nicht wieder angezeigt.
diagnostics-go = Erklären
token-diagnostic-title = Warum die Token-Anfrage fehlgeschlagen ist
token-diagnostic-lead = Diese Seite lässt sich zehn Minuten lang öffnen. Nur eine Testumgebung nennt die genaue Ursache; im Produktivbetrieb sieht Ihr Dienst nur den Fehler.
token-diagnostic-fix = Was zu tun ist
