public-status-title = Betriebsstatus
public-status-feed = Status von { $hub }
public-status-no-problem = Sie können sich mit jedem Konto anmelden.
public-status-problems = Aktuelle Störungen
public-status-planned-title = Geplante Unterbrechungen
public-status-down = funktioniert nicht
public-status-degraded = funktioniert wieder, vor Kurzem gab es Störungen
public-status-blocked = zurzeit ausgesetzt
public-status-planned = geplante Unterbrechung
public-status-begins = Beginn:
public-status-ends = Ende:
public-status-from = Ab { $time }.
public-status-until = Bis { $time }.
public-status-time = Stand:
public-accessibility-title = Erklärung zur Barrierefreiheit
public-accessibility-scope = Diese Erklärung gilt für die Anmeldeseiten von { $hub }, die für alle nutzbar sein sollen (Richtlinie (EU) 2016/2102).
public-accessibility-conformity = Vereinbarkeit mit den Anforderungen
public-accessibility-full = Die Seiten entsprechen der EN 301 549 und den WCAG 2.1, Stufe AA.
public-accessibility-partial = Die Seiten entsprechen teilweise der EN 301 549 und den WCAG 2.1, Stufe AA: Die Ausnahmen stehen unten.
public-accessibility-none = Die Seiten entsprechen nicht der EN 301 549 und den WCAG 2.1, Stufe AA: Die Gründe stehen unten.
public-accessibility-defects = Nicht barrierefreie Inhalte
public-accessibility-preparation = Erstellung dieser Erklärung
public-accessibility-prepared = Sie wurde am { $date } erstellt.
public-accessibility-self = Sie beruht auf einer Selbstbewertung des Betreibers.
public-accessibility-external = Sie beruht auf einer Bewertung durch eine andere Stelle.
public-accessibility-feedback = Barriere melden
public-accessibility-contact = Schreiben Sie uns, wenn Sie auf eine Barriere stoßen oder etwas in einer anderen Form brauchen:
public-accessibility-enforcement = Wenn unsere Antwort Ihnen nicht genügt
public-accessibility-body = Sie können sich an diese Stelle wenden:
public-privacy-title = Datenschutzerklärung
public-privacy-scope = Diese Erklärung betrifft die Daten, die { $hub } verarbeitet, wenn Sie sich bei einem Dienst anmelden.
public-privacy-controller = Verantwortliche Stelle
public-privacy-officer = Datenschutzbeauftragte/r:
public-privacy-purpose-title = Wozu die Daten dienen
public-privacy-purpose = Der Dienst, den Sie gewählt haben, erfährt, wer Sie sind, und kann sich darauf verlassen.
public-privacy-basis = Rechtsgrundlage:
public-privacy-data-title = Welche Daten es sind und woher sie stammen
public-privacy-data = Das Konto, das Sie wählen, gibt an, wer Sie sind, wie Sie sich angemeldet haben und wie verlässlich das ist. Ein Dienst erhält nur die Daten, nach denen er fragen darf.
public-privacy-register = Ein Personenregister bestätigt oder ergänzt sie.
public-privacy-recipients = Wer die Daten erhält
public-privacy-service = der Dienst, bei dem Sie sich anmelden
public-privacy-periods = Wie lange die Daten gespeichert werden
public-privacy-login = Daten einer nicht abgeschlossenen Anmeldung: höchstens { $period }.
public-privacy-session = Daten Ihrer Sitzung: bis Sie sich abmelden, ohne Nutzung { $idle }, insgesamt höchstens { $period }.
public-privacy-refresh = Daten für einen Dienst, der sie in Ihrer Abwesenheit erneut abrufen darf: höchstens { $period }, oder bis Sie dies widerrufen.
public-privacy-recent = Zeitpunkte, Dienste und Fehler der letzten Anmeldungen, ohne Ihren Namen, für den Support: höchstens { $period }.
public-privacy-audit = Prüfprotokoll mit Pseudonymen, Diensten und Zeitpunkten: { $period }.
public-privacy-audit-unlimited = Prüfprotokoll mit Pseudonymen, Diensten und Zeitpunkten: unbefristet.
public-privacy-choice = Ein Cookie mit dem zuletzt gewählten Konto: { $period }.
public-privacy-rights-title = Ihre Rechte
public-privacy-rights = Sie können Ihre Daten einsehen, sie berichtigen oder löschen lassen, ihre Verarbeitung einschränken lassen und ihr widersprechen.
public-privacy-complaint = Sie können Beschwerde einlegen bei:
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
