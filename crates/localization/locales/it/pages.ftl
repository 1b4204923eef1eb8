### What a person reads. Short sentences, no protocol words.
### One word for one thing: "servizio" (who asks), "account" (what you sign in with),
### "gestore" (who runs the account), "accesso".

footer-label = Link utili
language-name = Italiano
language-label = Lingua
language-go = Cambia lingua

## Dates

month-1 = gennaio
month-2 = febbraio
month-3 = marzo
month-4 = aprile
month-5 = maggio
month-6 = giugno
month-7 = luglio
month-8 = agosto
month-9 = settembre
month-10 = ottobre
month-11 = novembre
month-12 = dicembre
date-day = { $day ->
    [1] 1º { $month } { $year }
   *[other] { $day } { $month } { $year }
}
date-month = { $month } { $year } (giorno sconosciuto)
date-year = { $year } (giorno e mese sconosciuti)
date-time = { $date } alle ore { $time } (UTC)

## Choice of the account

choice-title = Scelga un account
choice-title-service = Accedere a «{ $service }»
choice-lead = Scelga l’account che desidera usare.
site-line = «{ $hub }» le permette di accedere ai servizi con un account che ha già.
choice-asks = «{ $service }» le chiede di accedere.
level-eidas1 = È sufficiente il suo account abituale.
level-eidas2 = Questo servizio richiede un accesso più sicuro, con due prove: ad esempio una password e il suo telefono.
level-eidas3 = Questo servizio richiede l’accesso più sicuro, ad esempio con una carta d’identità elettronica.
choice-accounts = Account disponibili
choice-banner = L’accesso con «{ $provider }» non è riuscito.
choice-stopped = L’accesso con «{ $provider }» è stato interrotto.
choice-stopped-next = Nulla è stato trasmesso al servizio. Scelga di nuovo questo account o un altro.
choice-less-safe = L’accesso con «{ $provider }» non era abbastanza sicuro per questo servizio.
choice-less-safe-next = Nulla è stato trasmesso al servizio. Scelga un altro account, oppure di nuovo questo con un metodo di accesso più sicuro, se lo offre.
choice-not-me = Ha indicato che non era lei. Nulla è stato trasmesso al servizio.
choice-not-me-next = «{ $provider }» potrebbe ricordare ancora l’altra persona: se il suo nome riappare, si disconnetta da «{ $provider }» e poi ritorni qui.
choice-search = Cerca un account per nome
choice-search-go = Cerca
choice-found-none = Nessun account disponibile corrisponde a «{ $query }».
choice-show-all = Mostra tutti gli account
choice-total = Sono disponibili { $total } account. Cerchi il suo per nome.
choice-range = Account da { $first } a { $last } su { $total }
choice-found = { $total ->
    [one] { $total } account trovato
   *[other] { $total } account trovati
}
choice-email = Indirizzo e-mail
choice-email-use = Viene usata solo la parte dopo la @, per trovare dove accede. L’indirizzo non viene conservato.
choice-email-go = Continua
choice-email-list = Passa all’elenco
choice-email-again = Usa un indirizzo e-mail
choice-email-malformed = Inserisca un indirizzo e-mail completo, ad esempio nome@example.org.
choice-email-found = Account per gli indirizzi di «{ $domain }»:
choice-email-unknown = Nessun account è registrato per gli indirizzi di «{ $domain }». Ne scelga uno dall’elenco.
choice-last-used = Ultimo account usato
choice-forget = Non ricordare questo account
choice-others = Altri account
choice-see-category = { $category }: mostra tutti i { $total } account
choice-letters = Account per iniziale
choice-pages = Pagine dell’elenco
choice-previous = Account precedenti
choice-next = Account successivi
choice-none = Al momento nessun account è disponibile.
choice-no-account = Non ho nessuno di questi account
choice-unavailable = Non disponibili al momento
choice-recent-trouble = Ha avuto un problema poco fa
choice-unavailable-more = { $total ->
    [one] E { $total } altro: ne cerchi il nome per sapere perché.
   *[other] E altri { $total }: cerchi un nome per sapere perché.
}
choice-cancel = Annulla e torna a «{ $service }»
why-too-low = Accesso non abbastanza sicuro per questo servizio
why-no-reauthentication = Non può chiederle di accedere di nuovo, anche se questo servizio lo esige
why-not-for-service = Non utilizzabile per questo servizio
why-in-trouble = Problemi tecnici in corso
why-off = Disattivato al momento
why-blocked = Sospeso al momento

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Accesso con «{ $provider }»
sign-in-username = Nome utente
sign-in-password = Password
sign-in-show = Mostra la password
sign-in-hide = Nascondi la password
sign-in-forgotten = Ho dimenticato la password
sign-in-whose = Inserisca la password che usa per «{ $provider }», e nessun’altra. Viene verificata lì e qui non viene conservata.
sign-in-go = Accedi
sign-in-other = Usa un altro account
sign-in-empty = Inserisca il nome utente e la password.
sign-in-wrong = Il nome utente o la password non sono corretti, oppure l’account è bloccato per qualche tempo.
sign-in-last = Le resta un tentativo. Se anche questo è errato, dovrà attendere prima del successivo.
sign-in-wait = { $minutes ->
    [one] Ci sono stati troppi tentativi errati. Attenda un minuto, poi riprovi.
   *[other] Ci sono stati troppi tentativi errati. Attenda { $minutes } minuti, poi riprovi.
}
sign-in-new-password = Imposta una nuova password
password-title = La sua password
password-must-change = La sua password è accettata, ma deve cambiarla.
password-sign-ins-left = La sua password è scaduta. La cambi ora. Accessi ancora possibili: { $count }.
password-expires = La sua password scade presto. La cambi in tempo. Giorni rimanenti: { $days }.
password-where = Può cambiarla presso «{ $provider }».

## A code by mail

mail-page-title = Inserisca il codice che le abbiamo inviato via e-mail
mail-page-sent = Abbiamo inviato un codice a { $address }. È valido per dieci minuti.
mail-page-why = «{ $service }» richiede questo codice oltre alla password.
mail-page-code = Codice a sei cifre
mail-page-go = Continua
mail-page-wrong = Il codice è errato. Tentativi rimasti: { $count }.
mail-page-expired = Questo codice non è più valido. Ne chieda un altro.
mail-page-missing = Nessuna e-mail dopo un minuto? Controlli anche la posta indesiderata o chieda un altro codice.
mail-page-resend = Invia un altro codice
mail-page-reload = Tra un minuto potrà chiedere un altro codice: ricarichi allora la pagina
mail-page-unreadable = Non ho accesso a questa casella e-mail

## What is sent

inform-title = I suoi dati per questo servizio
inform-lead = «{ $service }» riceverà:
inform-why = «{ $service }» chiede questi dati per sapere chi è lei. Nulla viene inviato prima che lei continui.
inform-go = Continua su «{ $service }»
inform-cancel = Non continuare
consent-title = Acconsente all’invio di questi dati?
consent-lead = «{ $service }» chiede di ricevere:
consent-yes = Sì, acconsento
consent-no = No, rifiuto
consent-person = Sta accedendo come
consent-not-me = Non sono io
consent-pseudonym = «{ $service }» non riceverà né il suo nome né altri dati. Riceverà solo un numero creato per questo servizio, per riconoscerla la prossima volta.
consent-source-register = Questi dati provengono dal registro nazionale e dal suo account «{ $provider }».
consent-source-provider = Questi dati provengono dal suo account «{ $provider }».
consent-account = Ha effettuato l’accesso con il suo account «{ $provider }».
consent-offline = «{ $service }» potrà riceverli di nuovo anche in seguito, in sua assenza.
value-none = non indicato
value-code = codice { $code }
country-99100 = Francia
claim-given-names = Nome
claim-family-name = Cognome di nascita
claim-birthdate = Data di nascita
claim-gender = Sesso
claim-birthplace = Luogo di nascita
claim-birthcountry = Paese di nascita
claim-preferred-username = Nome d’uso
claim-email = Indirizzo e-mail
claim-name = Nome completo
claim-middle-name = Secondo nome
claim-nickname = Soprannome
claim-profile = Pagina del profilo
claim-picture = Foto
claim-website = Sito web
claim-zoneinfo = Fuso orario
claim-locale = Lingua
claim-updated-at = Ultima modifica del profilo
claim-email-verified = Indirizzo e-mail verificato
claim-phone-number = Numero di telefono
claim-phone-number-verified = Numero di telefono verificato
claim-address = Indirizzo postale
value-yes = Sì
value-no = No
gender-female = femmina
gender-male = maschio
gender-unspecified = non specificato

## Errors: what happened

error-bad-request = La richiesta del servizio non è corretta.
error-not-found = Questa pagina non esiste.
error-method = Questa pagina non può essere usata in questo modo.
error-timeout = La richiesta ha impiegato troppo tempo ad arrivare.
error-too-large = La richiesta è troppo grande.
error-unknown-host = Questo indirizzo non è quello giusto.
error-internal = Si è verificato un errore da parte nostra.
error-unavailable = Il nostro servizio non è disponibile per qualche istante.
error-busy = Troppe persone stanno accedendo in questo momento.
error-network-limited = Dalla sua rete sono stati avviati troppi accessi in un minuto.
error-service-limited = Il servizio ha avviato troppi accessi in un minuto.
error-register = Il registro nazionale non ha potuto confermare la sua identità.
error-register-unavailable = Il registro nazionale non risponde.
error-identity-incomplete = Nel suo account manca un dato necessario.
error-identity-malformed = Un dato del suo account non è leggibile.
error-idp-unavailable = Questo account non può essere usato.
error-idp-trouble = Il gestore di questo account ha un problema tecnico.
error-hub-clock = L’orologio di questo sito di accesso è sbagliato, perciò ora non è possibile accedere. Il gestore del sito deve correggerlo.
error-idp-busy = Troppe persone stanno usando questo account in questo momento.
error-idp-denied = L’accesso si è fermato prima della fine.
error-password-change = La sua password è corretta, ma deve cambiarla prima di poter accedere qui.
error-account-disabled = La sua password è corretta, ma questo account è chiuso o scaduto. Si rivolga al gestore di questo account.
error-account-hours = La sua password è corretta, ma questo account non può essere usato a quest’ora. Riprovi più tardi o si rivolga al gestore di questo account.
error-account-not-permitted = La sua password è corretta, ma questo account non è autorizzato ad accedere qui. Si rivolga al gestore di questo account.
error-account-refused = La sua password non è stata verificata, perché questo account non può essere utilizzato: potrebbe essere bloccato o chiuso. Si rivolga al gestore di questo account.
error-assurance = L’accesso non è abbastanza sicuro per questo servizio.
error-login-unknown = Questo accesso non esiste o non esiste più.
error-login-other-browser = Questo accesso è stato avviato in un altro browser, oppure questo browser ha perso i cookie.
error-idp-answer = La risposta del gestore di questo account non può essere usata.
error-login-order = Ha continuato in un’altra scheda.
error-login-done = Questo accesso è già terminato.
error-login-expired = Questo accesso ha richiesto troppo tempo.
error-login-too-many = Questo accesso è stato chiuso: ce n’erano troppi aperti.
error-repeated-cookie = Il suo browser ha inviato due volte lo stesso cookie di questo sito. Per sicurezza non è stato fatto nulla.
error-idp-blocked = L’accesso con questo account è sospeso al momento.
error-idp-blocked-for-service = L’accesso a questo servizio con questo account è sospeso al momento.
error-idp-reauthentication = Questo servizio esige che lei acceda di nuovo, e questo account non può dimostrare che lo ha fatto.
error-redirect-withdrawn = Il servizio ha cambiato indirizzo durante l’accesso. Non gli è stato inviato nulla.
error-scope-withdrawn = Il servizio non può più ricevere questi dati.
error-gate = Questo account non può essere usato per questo servizio.
error-login-interrupted = L’accesso è stato interrotto.
error-cancelled = Ha annullato l’accesso.
error-refused = Ha rifiutato l’invio dei suoi dati.
error-login-required = Per continuare è necessario accedere.
error-consent-required = Per continuare è necessario il suo consenso.
error-mail-address = Questo accesso richiede un codice via e-mail, ma il suo account non ha un indirizzo e-mail.
error-mail-address-unusable = Questo accesso richiede un codice via e-mail, ma non possiamo inviare messaggi all’indirizzo e-mail del suo account.
error-mail-unreadable = Per accedere con questo account serve il codice che inviamo via e-mail.
error-mail-code-wrong = Sono stati inseriti troppi codici errati.
error-mail-limited = Per questo account sono stati inviati o inseriti troppi codici. Riprovi più tardi.
error-mail-unavailable = In questo momento non possiamo inviarle un codice via e-mail.
error-csrf = Per sicurezza, questo modulo non è stato accettato.

## Errors: who can fix it, and what to do next

responsible-user = Nulla è andato perso: può ricominciare.
responsible-user-other = Può accedere con un altro account o tornare al servizio.
responsible-register = I dati del suo account potrebbero essere diversi da quelli del registro, per esempio i nomi o la data di nascita. Chieda al gestore del suo account di verificarli, oppure usi un altro account.
register-correction = Se l’errore è nel registro stesso, si corregge qui:
responsible-identity = Chieda al gestore del suo account di completarlo o correggerlo, oppure usi un altro account.
responsible-mailbox = Se questa casella non è più sua, chieda aiuto: il vecchio indirizzo può essere rimosso.
responsible-cookies = Consenta i cookie per questo sito. Torni poi al sito del servizio e acceda di nuovo, senza cambiare browser.
responsible-repeated-cookie = Apra una finestra privata del browser, vada al sito del servizio e acceda da lì. Per usare di nuovo una finestra normale, elimini i cookie di questo sito nelle impostazioni del browser.
responsible-newer-tab = Continui nella scheda o finestra aperta per ultima. Può chiudere questa.
responsible-connection = La sua connessione a internet potrebbe essere lenta. La verifichi, poi riprovi.
responsible-user-continue = Nulla è andato perso: può continuare.
responsible-other-tab = Ciò che ha fatto qui appartiene a un passaggio precedente. Nulla è andato perso: continui qui o nell’altra scheda.
responsible-finished = L’ha terminato qui o in un’altra scheda. Può chiudere questa pagina. Per accedere di nuovo, riparta dal servizio.
retry-later = Nulla è andato perso. Riprovi tra qualche minuto.
retry-wait = { $seconds ->
    [one] Nulla è andato perso. Potrà riprovare tra { $seconds } secondo.
   *[other] Nulla è andato perso. Potrà riprovare tra { $seconds } secondi.
}
retry-auto = Questa pagina riproverà poi da sola.
retry-auto-later = Questa pagina riprova anche da sola, alcune volte.
retry-stop = Non riprovare automaticamente
responsible-service = Solo il servizio da cui proviene può risolvere il problema. Gli comunichi i riferimenti in fondo alla pagina.
responsible-provider = Il problema deve essere risolto dal gestore del suo account. Gli comunichi i riferimenti in fondo alla pagina. Un altro account potrebbe funzionare.
responsible-answer = La colpa non è del servizio: il gestore dell’account ha inviato una risposta errata, o una risposta a un tentativo precedente. Può proseguire con l’accesso; un altro account potrebbe funzionare.
responsible-answer-alone = La colpa non è del servizio: il gestore dell’account ha inviato una risposta errata, e in questo browser non è in corso nessun accesso. Può chiudere questa pagina e tornare al sito del servizio.
responsible-operator = Spetta a noi risolvere il problema. Riprovi tra qualche minuto.
error-no-way = Può chiudere questa pagina e tornare al sito del servizio.
support-link = Chiedere aiuto
error-claim = Dato interessato: { $claim }.
error-service = Servizio: «{ $service }»
error-account = Account: «{ $provider }»
action-again = Riprova
action-continue = Continua l’accesso
action-other = Usa un altro account
action-service = Torna a «{ $service }»
action-service-unnamed = Torna al servizio
action-home = Ricomincia da «{ $service }»
action-home-unnamed = Ricomincia dal servizio
action-sign-out = Disconnetti qui
refs-title = Dati per l’assistenza
refs-code = Codice
refs-precise = Secondo codice
refs-support = Riferimento
refs-time = Data
refs-developer = Per il gruppo tecnico del servizio

## Return to the service, signed out

return-title = Ritorno al servizio
return-lead = Sta per tornare a «{ $service }». Se non succede nulla, usi il pulsante.
return-go = Continua
log-out-title = Vuole disconnettersi?
log-out-requested = «{ $service }» le propone di disconnettersi.
log-out-account = Qui ha effettuato l’accesso con il suo account «{ $provider }». Dopo la disconnessione, ogni servizio le chiederà di accedere di nuovo.
log-out-no-session = Sembra che in questo browser nessuno abbia effettuato l’accesso qui. Per sicurezza, può disconnettersi comunque.
log-out-go = Disconnetti
log-out-stay = Mantieni l’accesso e torna a «{ $service }»
log-out-close = Per mantenere l’accesso, basta chiudere questa pagina.
landing-title = Un accesso per molti servizi
landing-go = Su questa pagina non si accede. Vada al sito del servizio che desidera usare e scelga lì di accedere: verrà riportato qui.
landing-shared = Ha usato un dispositivo condiviso? Si disconnetta qui prima di lasciarlo.
logged-out-title = Disconnessione effettuata
logged-out-lead = Il suo accesso qui è terminato.
logged-out-provider = Si è disconnesso anche dal suo account «{ $provider }».
logged-out-services = I servizi che ha usato potrebbero mantenere aperto l’accesso. Si disconnetta anche da ciascuno di essi:
logged-out-unreached = Non è stato possibile avvisare «{ $provider }». Per sicurezza, si disconnetta anche da quell’account o chiuda il browser.
logged-out-start = Vai alla pagina iniziale

## Sandbox

sandbox-ribbon = Ambiente di prova: qui nulla è reale
sandbox-title = Chi vuole essere?
sandbox-lead = «{ $provider }» è un account di prova. Scelga una persona e che cosa deve succedere.
sandbox-person = Persona
sandbox-level = Sicurezza dell’accesso
sandbox-level-too-low = Inferiore a quella richiesta: sarà rifiutato
sandbox-methods = Mezzi usati
sandbox-failure = Che cosa deve succedere?
sandbox-go = Accedi

## Demonstration service

demo-title = Provi un accesso
demo-lead = Questo servizio fittizio mostra un accesso completo, poi tutto ciò che ha ricevuto. Nessun dato è reale.
demo-step-1 = Lei sceglie un account di prova.
demo-step-2 = Lei sceglie chi essere.
demo-step-3 = Lei vede che cosa riceve il servizio.
demo-standard = Piattaforma standard
demo-standard-lead = L’identità proviene dal registro nazionale. I token sono firmati.
demo-high = Piattaforma di livello elevato
demo-high-lead = L’identità proviene dal gestore dell’account. I token sono firmati, poi cifrati: solo questo servizio può leggerli.
demo-sign-in-eidas1 = Accedi: livello basso (eidas1)
demo-sign-in-eidas2 = Accedi: livello significativo (eidas2)
demo-sign-in-eidas3 = Accedi: livello elevato (eidas3)
demo-in-title = Accesso effettuato
demo-in-lead = Ecco tutto ciò che il servizio ha ricevuto, dopo averlo verificato.
demo-claims = Dati ricevuti
demo-in-encrypted = Entrambi i token sono arrivati cifrati; la chiave privata del servizio li ha decifrati.
demo-id-token = Token di identità
demo-jwe-header = Intestazione della cifratura (JWE)
demo-header = Intestazione della firma (JWS)
demo-payload = Contenuto
demo-userinfo = Dati della persona (userinfo)
demo-data = Che cosa apprende un fornitore di dati
demo-data-lead = Il servizio lo ha chiamato con il token di accesso, e il fornitore di dati ha chiesto all’hub a chi appartiene quel token.
demo-token-answer = Risposta dell’endpoint dei token
demo-sign-out = Disconnetti
demo-sign-in-again = Accedi di nuovo
demo-error-title = L’accesso non è riuscito
demo-error-lead = Il servizio ha ricevuto questa risposta al posto di un accesso.
demo-wallet-title = Portafoglio dimostrativo
demo-wallet-lead = I documenti di questo portafoglio sono inventati. «{ $hub }» chiede:
demo-wallet-agree = Accetta e invia
demo-wallet-decline = Rifiuta
demo-error-code = Errore
demo-error-description = Descrizione
demo-refused-lead = Il servizio ha ricevuto una risposta di cui non può fidarsi, o nessuna. Non ne ha usato nulla.
demo-refused-reason = Motivo
sandbox-level-eidas1 = Basso (eidas1)
sandbox-level-eidas2 = Significativo (eidas2)
sandbox-level-eidas3 = Elevato (eidas3)
sandbox-failure-none = Va tutto bene
sandbox-failure-cancel = La persona rinuncia
sandbox-failure-error = Il gestore dell’account ha un guasto
sandbox-failure-missing-claim = L’identità arriva senza data di nascita
sandbox-failure-unknown-person = Il registro non conosce questa persona
sandbox-failure-level-too-low = L’accesso è meno sicuro di quanto richiesto
demo-sign-in-consent = Accedi e dai il consenso (eidas1)
demo-methods = Come la persona ha effettuato l’accesso
demo-method-mark = Contrassegno dell’hub
demo-out-title = Disconnessione effettuata
demo-out-lead = Che cosa è terminato, per quanto un servizio può saperlo:
demo-out-service = Questo servizio: la sua sessione è terminata.
demo-out-hub = L’hub: la sua sessione è terminata. Ha rimandato indietro il browser con lo «state» di questa disconnessione.
demo-out-hub-unknown = L’hub: non si sa. Non ha rimandato indietro il browser.
demo-out-provider = Il gestore dell’account: l’hub vi manda il browser per la disconnessione, dove è possibile. Il servizio non ne riceve conferma.
demo-out-provider-unknown = Il gestore dell’account: non si sa.
demo-next = Da vedere ora:
demo-next-start = effettui l’accesso. Nella scelta dell’account, uno è bloccato e uno è irraggiungibile: veda che cosa viene mostrato alla persona. Maggiori informazioni in { $page }
demo-next-in = la console dell’operatore conta questo accesso e non mostra nomi. Per accedere da un’applicazione propria, veda { $page }
demo-next-out = acceda di nuovo: sceglie ancora l’account e la persona, perché non resta nessuna sessione. Maggiori informazioni in { $page }
demo-next-error = se una pagina ha mostrato un riferimento, lo cerchi nella console dell’operatore. Tutti i codici di errore sono in { $page }
demo-console-standard = Console dell’operatore, standard
demo-console-high = Console dell’operatore, livello elevato
sandbox-next = in «Che cosa deve succedere?», scelga un errore e veda che cosa ricevono la persona e il servizio. Maggiori informazioni in { $page }
method-pwd = Password
method-pin = PIN
method-kba = Domande personali
method-otp = Codice monouso
method-sms = SMS
method-tel = Telefonata
method-hwk = Chiave hardware
method-swk = Chiave software
method-sc = Smart card
method-pop = Prova di una chiave
method-face = Volto
method-fpt = Impronta digitale
method-iris = Iride
method-retina = Retina
method-vbm = Voce
method-mail = E-mail
method-geo = Posizione
method-mca = Più canali
method-rba = Valutazione del rischio
method-user = Presenza della persona
method-wia = Accesso Windows
method-mfa = Più fattori

# What the operator has to say to everybody
notice-warning = Importante:
notice-more = Maggiori informazioni

## The pages about an OAuth error, for developers

oauth-error-title = L’errore { $error }
oauth-error-lead = Questa pagina è destinata a chi sviluppa o gestisce un servizio. L’hub ha risposto con questo errore a una richiesta del server del servizio. Se voleva soltanto accedere, torni al servizio.
oauth-error-causes = Possibili cause e che cosa fare
oauth-error-precise = Questa pagina è la stessa per ciascuna di queste cause, per non rivelare nessun servizio; error_description può dire di più. L’operatore dell’hub può trovare la causa esatta nel log, con l’ora e il client_id del servizio.
oauth-error-documentation = Documentazione per i servizi
oauth-error-invalid-request =
    Un parametro manca, è vuoto o è stato inviato due volte: error_description lo indica. Lo invii una sola volta.
    Il corpo non è un modulo: lo invii come application/x-www-form-urlencoded.
    Il client si autentica in due modi, ad esempio nell’intestazione e nel corpo: usi solo quello registrato.
oauth-error-invalid-client =
    Il client si autentica con un metodo diverso da quello registrato. Molte librerie inviano il segreto nell’intestazione; il metodo predefinito dell’hub è client_secret_post, nel corpo.
    Il segreto è errato, è scaduto o non è ancora valido. Lo confronti, senza spazi attorno, e se necessario ne chieda uno nuovo all’operatore.
    Il client_id qui è sconosciuto o è disattivato: ogni piattaforma e ogni ambiente ha il proprio.
    Un’asserzione firmata non è accettata: verifichi la chiave, l’aud (l’emittente), l’exp e che il jti sia nuovo.
oauth-error-invalid-grant =
    Il codice è troppo vecchio o è già stato usato: lo scambi una sola volta, appena arriva.
    Il redirect_uri è diverso da quello della richiesta di autorizzazione.
    Il code_verifier appartiene a un altro accesso: lo conservi nella sessione del browser che ha avviato l’accesso.
    Il codice è stato emesso per un altro client, oppure nel frattempo l’utente si è disconnesso.
oauth-error-unsupported-grant-type =
    Il grant_type deve essere authorization_code, oppure refresh_token se il servizio è registrato per i token di aggiornamento (refresh token). Senza di essi, avvii un nuovo accesso: con prompt=none non viene mostrata nessuna pagina finché dura la sessione.
oauth-error-temporarily-unavailable =
    L’hub è sovraccarico, o non può recuperare le chiavi al jwks_uri del servizio: riprovi tra poco, o dopo Retry-After se è presente nella risposta.
    Ci sono state troppe autenticazioni non riuscite con il suo client_id: corregga le credenziali, poi attenda.
oauth-error-server-error =
    L’hub ha avuto un errore interno: comunichi all’operatore dell’hub l’ora e il client_id.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = Che cosa fa l’hub con questa richiesta?
diagnostics-lead = Incolli l’indirizzo a cui il suo servizio invia il browser. L’hub spiega ogni parametro e non avvia nessun accesso.
diagnostics-result = Risultato
diagnostics-parameters = Parametro per parametro
diagnostics-url = Indirizzo della richiesta di autorizzazione
diagnostics-help = Da https:// fino all’ultimo parametro. Non viene conservato né mostrato di nuovo.
diagnostics-go = Spiega
token-diagnostic-title = Perché la richiesta di token non è riuscita
token-diagnostic-lead = Questa pagina si può aprire per dieci minuti. Solo un ambiente di prova indica la causa esatta; in produzione il suo servizio vede soltanto l’errore.
token-diagnostic-fix = Che cosa fare
