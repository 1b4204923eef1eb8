public-status-title = Stato del servizio
public-status-feed = Stato di { $hub }
public-status-no-problem = Può accedere con tutti gli account.
public-status-problems = Problemi in corso
public-status-planned-title = Interruzioni previste
public-status-down = non funziona
public-status-degraded = funziona di nuovo, dopo errori recenti
public-status-blocked = bloccato
public-status-planned = interruzione prevista
public-status-begins = Inizio:
public-status-ends = Fine:
public-status-from = Dal { $time }.
public-status-until = Fino al { $time }.
public-status-time = Stato al
public-accessibility-title = Dichiarazione di accessibilità
public-accessibility-scope = Questa dichiarazione riguarda le pagine di accesso di { $hub }, che tutti devono poter usare (direttiva (UE) 2016/2102).
public-accessibility-conformity = Conformità
public-accessibility-full = Le pagine sono conformi a EN 301 549 e WCAG 2.1, livello AA.
public-accessibility-partial = Le pagine sono parzialmente conformi a EN 301 549 e WCAG 2.1, livello AA: seguono le eccezioni.
public-accessibility-none = Le pagine non sono conformi a EN 301 549 e WCAG 2.1, livello AA: seguono i motivi.
public-accessibility-defects = Che cosa non è accessibile
public-accessibility-preparation = Questa dichiarazione
public-accessibility-prepared = È stata redatta il { $date }.
public-accessibility-self = Si basa su una valutazione del gestore.
public-accessibility-external = Si basa su una valutazione di un’altra organizzazione.
public-accessibility-feedback = Segnalare un problema
public-accessibility-contact = Ci scriva se qualcosa Le impedisce di continuare o se Le serve in un’altra forma:
public-accessibility-enforcement = Se la nostra risposta non La soddisfa
public-accessibility-body = Può rivolgersi a questa autorità:
public-privacy-title = Informativa sulla privacy
public-privacy-scope = Questa informativa riguarda i dati che { $hub } tratta quando accede a un servizio.
public-privacy-controller = Chi è il titolare
public-privacy-officer = Responsabile della protezione dei dati:
public-privacy-purpose-title = A che cosa servono i dati
public-privacy-purpose = Il servizio che ha scelto viene a sapere chi è Lei e può farvi affidamento.
public-privacy-basis = Base giuridica:
public-privacy-data-title = Quali dati, e da dove vengono
public-privacy-data = L’account che sceglie dice chi è Lei, come ha effettuato l’accesso e con quale affidabilità. Un servizio riceve solo ciò che può chiedere.
public-privacy-register = Un registro di persone li conferma o li completa.
public-privacy-recipients = Chi li riceve
public-privacy-service = il servizio a cui accede
public-privacy-periods = Per quanto tempo sono conservati
public-privacy-login = Dati di un accesso non terminato: al massimo { $period }.
public-privacy-session = Dati della Sua sessione: finché non esce, { $idle } senza uso, al massimo { $period }.
public-privacy-refresh = Dati per un servizio che può tornare senza di Lei: al massimo { $period }, o finché non lo revoca.
public-privacy-recent = Orari, servizi ed errori degli accessi recenti, senza il Suo nome, per l’assistenza: al massimo { $period }.
public-privacy-audit = Registro di audit, con pseudonimi, servizi e orari: { $period }.
public-privacy-audit-unlimited = Registro di audit, con pseudonimi, servizi e orari: senza un termine fisso.
public-privacy-choice = Un cookie con l’ultimo account scelto: { $period }.
public-privacy-rights-title = I Suoi diritti
public-privacy-rights = Può consultare i Suoi dati, farli rettificare o cancellare, farne limitare l’uso e opporvisi.
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
