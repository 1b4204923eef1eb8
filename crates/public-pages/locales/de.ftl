public-status-title = Status des Dienstes
public-status-feed = Status von { $hub }
public-status-no-problem = Sie können sich mit jedem Konto anmelden.
public-status-problems = Aktuelle Störungen
public-status-planned-title = Geplante Unterbrechungen
public-status-down = funktioniert nicht
public-status-degraded = funktioniert wieder, nach Fehlern vor Kurzem
public-status-blocked = gesperrt
public-status-planned = geplante Unterbrechung
public-status-begins = Beginn:
public-status-ends = Ende:
public-status-from = Ab { $time }.
public-status-until = Bis { $time }.
public-status-time = Stand:
public-accessibility-title = Erklärung zur Barrierefreiheit
public-accessibility-scope = Diese Erklärung gilt für die Anmeldeseiten von { $hub }, die alle benutzen können sollen (Richtlinie (EU) 2016/2102).
public-accessibility-conformity = Vereinbarkeit
public-accessibility-full = Die Seiten entsprechen EN 301 549 und WCAG 2.1, Stufe AA.
public-accessibility-partial = Die Seiten entsprechen EN 301 549 und WCAG 2.1, Stufe AA, teilweise: Ausnahmen folgen.
public-accessibility-none = Die Seiten entsprechen EN 301 549 und WCAG 2.1, Stufe AA, nicht: Gründe folgen.
public-accessibility-defects = Was nicht barrierefrei ist
public-accessibility-preparation = Diese Erklärung
public-accessibility-prepared = Sie wurde am { $date } erstellt.
public-accessibility-self = Sie beruht auf einer Bewertung durch den Betreiber.
public-accessibility-external = Sie beruht auf einer Bewertung durch eine andere Stelle.
public-accessibility-feedback = Ein Problem melden
public-accessibility-contact = Schreiben Sie uns, wenn Sie etwas hindert oder Sie es in anderer Form brauchen:
public-accessibility-enforcement = Wenn unsere Antwort nicht genügt
public-accessibility-body = Sie können sich an diese Stelle wenden:
public-privacy-title = Datenschutzerklärung
public-privacy-scope = Hier geht es um die Daten, die { $hub } verarbeitet, wenn Sie sich bei einem Dienst anmelden.
public-privacy-controller = Wer verantwortlich ist
public-privacy-officer = Datenschutzbeauftragte:
public-privacy-purpose-title = Wozu die Daten dienen
public-privacy-purpose = Der Dienst, den Sie gewählt haben, erfährt, wer Sie sind, und kann sich darauf verlassen.
public-privacy-basis = Rechtsgrundlage:
public-privacy-data-title = Welche Daten, und woher
public-privacy-data = Das Konto, das Sie wählen, sagt, wer Sie sind, wie Sie sich angemeldet haben und wie verlässlich das ist. Ein Dienst erhält nur, wonach er fragen darf.
public-privacy-register = Ein Personenregister bestätigt oder ergänzt sie.
public-privacy-recipients = Wer sie erhält
public-privacy-service = der Dienst, bei dem Sie sich anmelden
public-privacy-periods = Wie lange sie aufbewahrt werden
public-privacy-login = Daten einer Anmeldung, die nicht beendet ist: höchstens { $period }.
public-privacy-session = Daten Ihrer Sitzung: bis Sie sich abmelden, ohne Nutzung { $idle }, höchstens { $period }.
public-privacy-refresh = Daten für einen Dienst, der ohne Sie wiederkommen darf: höchstens { $period }, oder bis Sie es widerrufen.
public-privacy-recent = Zeiten, Dienste und Fehler der letzten Anmeldungen, ohne Ihren Namen, für Rückfragen: höchstens { $period }.
public-privacy-audit = Prüfprotokoll mit Pseudonymen, Diensten und Zeiten: { $period }.
public-privacy-audit-unlimited = Prüfprotokoll mit Pseudonymen, Diensten und Zeiten: ohne feste Frist.
public-privacy-choice = Ein Cookie mit dem zuletzt gewählten Konto: { $period }.
public-privacy-rights-title = Ihre Rechte
public-privacy-rights = Sie können Ihre Daten einsehen, berichtigen oder löschen lassen, ihre Verwendung einschränken lassen und ihr widersprechen.
public-privacy-complaint = Sie können sich beschweren bei:
public-status-available-count =
    { $count ->
        [one] { $count } Konto funktioniert.
       *[other] { $count } Konten funktionieren.
    }
public-days =
    { $count ->
        [one] { $count } Tag
       *[other] { $count } Tage
    }
public-hours =
    { $count ->
        [one] { $count } Stunde
       *[other] { $count } Stunden
    }
public-minutes =
    { $count ->
        [one] { $count } Minute
       *[other] { $count } Minuten
    }
