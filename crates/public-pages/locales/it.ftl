public-status-title = Stato del servizio
public-status-feed = { $hub }: stato del servizio
public-status-no-problem = Può accedere con tutti gli account.
public-status-problems = Problemi in corso
public-status-planned-title = Interruzioni previste
public-status-down = non funziona
public-status-degraded = funziona di nuovo, dopo problemi recenti
public-status-blocked = sospeso
public-status-planned = interruzione prevista
public-status-begins = Inizio:
public-status-ends = Fine:
public-status-from = Inizio: { $time }.
public-status-until = Fine: { $time }.
public-status-time = Ultimo aggiornamento:
public-accessibility-title = Dichiarazione di accessibilità
public-accessibility-scope = Questa dichiarazione riguarda le pagine di accesso di «{ $hub }», che tutti devono poter usare (direttiva (UE) 2016/2102).
public-accessibility-conformity = Conformità
public-accessibility-full = Le pagine sono conformi alla norma EN 301 549 e alle WCAG 2.1, livello AA.
public-accessibility-partial = Le pagine sono parzialmente conformi alla norma EN 301 549 e alle WCAG 2.1, livello AA: le eccezioni sono indicate sotto.
public-accessibility-none = Le pagine non sono conformi alla norma EN 301 549 e alle WCAG 2.1, livello AA: i motivi sono indicati sotto.
public-accessibility-defects = Contenuti non accessibili
public-accessibility-preparation = Redazione della dichiarazione
public-accessibility-prepared = Data di redazione: { $date }.
public-accessibility-self = La dichiarazione si basa su una valutazione effettuata dal gestore del sito.
public-accessibility-external = La dichiarazione si basa su una valutazione effettuata da un’altra organizzazione.
public-accessibility-feedback = Segnalare un problema
public-accessibility-contact = Ci scriva se incontra un ostacolo o se le serve un contenuto in un altro formato:
public-accessibility-enforcement = Se la nostra risposta non la soddisfa
public-accessibility-body = Può rivolgersi a questa autorità:
public-privacy-title = Informativa sulla privacy
public-privacy-scope = Questa informativa riguarda i dati che «{ $hub }» tratta quando lei accede a un servizio.
public-privacy-controller = Titolare del trattamento
public-privacy-officer = Responsabile della protezione dei dati:
public-privacy-purpose-title = A che cosa servono i dati
public-privacy-purpose = Permettono al servizio che ha scelto di sapere in modo affidabile chi è lei.
public-privacy-basis = Base giuridica:
public-privacy-data-title = Quali dati, e da dove vengono
public-privacy-data = L’account che sceglie indica chi è lei, come ha effettuato l’accesso e con quale livello di affidabilità. Un servizio riceve solo ciò che è autorizzato a chiedere.
public-privacy-register = Un registro anagrafico conferma o completa questi dati.
public-privacy-recipients = Chi li riceve
public-privacy-service = il servizio a cui accede
public-privacy-periods = Per quanto tempo sono conservati
public-privacy-login = Dati di un accesso non terminato: al massimo { $period }.
public-privacy-session = Dati della sua sessione: fino alla disconnessione, o per { $idle } di inattività, al massimo { $period }.
public-privacy-refresh = Dati per un servizio che può riceverli di nuovo in sua assenza: al massimo { $period }, o finché non revoca il consenso.
public-privacy-recent = Orari, servizi ed errori degli accessi recenti, senza il suo nome, per l’assistenza: al massimo { $period }.
public-privacy-audit = Registro di audit, con pseudonimi, servizi e orari: { $period }.
public-privacy-audit-unlimited = Registro di audit, con pseudonimi, servizi e orari: senza un termine fisso.
public-privacy-choice = Cookie che ricorda l’ultimo account scelto: { $period }.
public-privacy-rights-title = I suoi diritti
public-privacy-rights = Può consultare i suoi dati, farli rettificare o cancellare, farne limitare il trattamento e opporsi al loro uso.
public-privacy-complaint = Può presentare un reclamo a:
public-status-available-count =
    { $count ->
        [one] { $count } account funziona.
       *[other] { $count } account funzionano.
    }
public-days =
    { $count ->
        [one] { $count } giorno
       *[other] { $count } giorni
    }
public-hours =
    { $count ->
        [one] { $count } ora
       *[other] { $count } ore
    }
public-minutes =
    { $count ->
        [one] { $count } minuto
       *[other] { $count } minuti
    }
