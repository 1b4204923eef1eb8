### What a person reads. Short sentences, no protocol words.
### One word for one thing: "serviciu" (who asks), "cont" (what you sign in with),
### "organizație" (who runs the account), "autentificare" (the sign-in).

footer-label = Linkuri utile
language-name = Română
language-label = Limbă
language-go = Schimbați limba

## Dates

month-1 = ianuarie
month-2 = februarie
month-3 = martie
month-4 = aprilie
month-5 = mai
month-6 = iunie
month-7 = iulie
month-8 = august
month-9 = septembrie
month-10 = octombrie
month-11 = noiembrie
month-12 = decembrie
date-day = { $day } { $month } { $year }
date-month = { $month } { $year } (ziua necunoscută)
date-year = { $year } (ziua și luna necunoscute)
date-time = { $date }, ora { $time } (UTC)

## Choice of the account

choice-title = Alegeți un cont
choice-title-service = Autentificare la „{ $service }”
choice-lead = Alegeți contul pe care doriți să îl folosiți.
site-line = „{ $hub }” vă permite să vă autentificați la servicii cu un cont pe care îl aveți deja.
choice-asks = „{ $service }” vă solicită să vă autentificați.
level-eidas1 = Contul dumneavoastră obișnuit este suficient.
level-eidas2 = Acest serviciu solicită o autentificare mai sigură: două dovezi, de exemplu o parolă și telefonul dumneavoastră.
level-eidas3 = Acest serviciu solicită cea mai sigură autentificare, de exemplu cu o carte electronică de identitate.
choice-accounts = Conturi disponibile
choice-banner = Autentificarea cu „{ $provider }” nu a reușit.
choice-stopped = Autentificarea cu „{ $provider }” a fost oprită.
choice-stopped-next = Nu s-a transmis nimic serviciului. Alegeți din nou acest cont sau altul.
choice-less-safe = Autentificarea cu „{ $provider }” nu a fost suficient de sigură pentru acest serviciu.
choice-less-safe-next = Nu s-a transmis nimic serviciului. Alegeți alt cont sau din nou acesta, cu o metodă de autentificare mai sigură, dacă există.
choice-not-me = Ați indicat că nu erați dumneavoastră. Nu s-a transmis nimic serviciului.
choice-not-me-next = Este posibil ca „{ $provider }” să rețină încă cealaltă persoană: dacă numele ei apare din nou, deconectați-vă de la „{ $provider }”, apoi reveniți.
choice-search = Căutați un cont după nume
choice-search-go = Căutați
choice-found-none = Niciun cont disponibil nu corespunde cu „{ $query }”.
choice-show-all = Vedeți toate conturile
choice-total = { $total ->
    [one] Este disponibil { $total } cont. Căutați-l după nume.
    [few] Sunt disponibile { $total } conturi. Căutați contul dumneavoastră după nume.
   *[other] Sunt disponibile { $total } de conturi. Căutați contul dumneavoastră după nume.
}
choice-range = Conturile { $first }–{ $last } din { $total }
choice-found = { $total ->
    [one] { $total } cont găsit
    [few] { $total } conturi găsite
   *[other] { $total } de conturi găsite
}
choice-email = Adresă de e-mail
choice-email-use = Se folosește numai partea de după @, pentru a afla unde vă puteți autentifica. Adresa nu se păstrează.
choice-email-go = Continuați
choice-email-list = Alegeți din listă
choice-email-again = Introduceți o adresă de e-mail
choice-email-malformed = Introduceți o adresă de e-mail completă, de exemplu nume@example.org.
choice-email-found = Conturi pentru adresele de la „{ $domain }”:
choice-email-unknown = Niciun cont nu este înregistrat pentru adresele de la „{ $domain }”. Alegeți unul din listă.
choice-last-used = Ultimul cont folosit
choice-forget = Nu rețineți acest cont
choice-others = Alte conturi
choice-see-category = { $category }: vedeți toate conturile ({ $total })
choice-letters = Conturi după prima literă
choice-pages = Paginile listei
choice-previous = Conturile anterioare
choice-next = Conturile următoare
choice-none = Niciun cont nu este disponibil momentan.
choice-no-account = Nu am niciunul dintre aceste conturi
choice-unavailable = Indisponibile momentan
choice-recent-trouble = Tocmai a avut o problemă
choice-unavailable-more = { $total ->
    [one] Și încă { $total } cont: căutați-l după nume pentru a afla motivul.
    [few] Și încă { $total } conturi: căutați unul după nume pentru a afla motivul.
   *[other] Și încă { $total } de conturi: căutați unul după nume pentru a afla motivul.
}
choice-cancel = Anulați și reveniți la „{ $service }”
why-too-low = Autentificare insuficient de sigură pentru acest serviciu
why-no-reauthentication = Nu vă poate cere să vă autentificați din nou, deși acest serviciu o cere
why-not-for-service = Nu poate fi folosit pentru acest serviciu
why-in-trouble = Nu funcționează momentan
why-off = Închis momentan
why-blocked = Suspendat momentan

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Autentificare cu „{ $provider }”
sign-in-username = Nume de utilizator
sign-in-password = Parolă
sign-in-show = Afișați parola
sign-in-hide = Ascundeți parola
sign-in-forgotten = Am uitat parola
sign-in-whose = Introduceți parola pe care o folosiți la „{ $provider }” și nicio alta. Parola este verificată acolo și nu se păstrează aici.
sign-in-go = Autentificare
sign-in-other = Alegeți alt cont
sign-in-empty = Introduceți numele de utilizator și parola.
sign-in-wrong = Numele de utilizator sau parola nu sunt corecte ori contul este blocat pentru un timp.
sign-in-last = Mai aveți o încercare. Dacă și aceasta este greșită, va trebui să așteptați înainte de următoarea.
sign-in-wait = { $minutes ->
    [one] Au fost prea multe încercări greșite. Așteptați un minut, apoi încercați din nou.
    [few] Au fost prea multe încercări greșite. Așteptați { $minutes } minute, apoi încercați din nou.
   *[other] Au fost prea multe încercări greșite. Așteptați { $minutes } de minute, apoi încercați din nou.
}
sign-in-new-password = Setați o parolă nouă
password-title = Parola dumneavoastră
password-must-change = Parola este acceptată, dar trebuie să o schimbați.
password-sign-ins-left = Parola a expirat. Schimbați-o acum. Autentificări rămase cu ea: { $count }.
password-expires = Parola va expira în curând. Schimbați-o la timp. Zile rămase: { $days }.
password-where = O puteți schimba la „{ $provider }”.

## A code by mail

mail-page-title = Introduceți codul pe care vi l-am trimis prin e-mail
mail-page-sent = Am trimis un cod la adresa { $address }. Este valabil zece minute.
mail-page-why = „{ $service }” cere acest cod pe lângă parolă.
mail-page-code = Cod din șase cifre
mail-page-go = Continuați
mail-page-wrong = Codul este greșit. Încercări rămase: { $count }.
mail-page-expired = Acest cod nu mai este valabil. Cereți altul.
mail-page-missing = Nu ați primit e-mailul după un minut? Verificați și mesajele nedorite (spam) sau cereți alt cod.
mail-page-resend = Cereți alt cod
mail-page-reload = Puteți cere alt cod peste un minut: reîncărcați atunci pagina
mail-page-unreadable = Nu am acces la această adresă de e-mail

## What is sent

inform-title = Informațiile dumneavoastră pentru acest serviciu
inform-lead = „{ $service }” va primi:
inform-why = „{ $service }” cere aceste informații pentru a ști cine sunteți. Nimic nu se trimite înainte de a continua.
inform-go = Continuați către „{ $service }”
inform-cancel = Nu continuați
consent-title = Sunteți de acord să trimiteți aceste informații?
consent-lead = „{ $service }” solicită să primească:
consent-yes = Da, sunt de acord
consent-no = Nu, refuz
consent-person = Vă autentificați ca
consent-not-me = Nu sunt eu
consent-pseudonym = „{ $service }” nu va primi nici numele dumneavoastră, nici alte informații. Va primi doar un număr creat pentru acest serviciu, ca să vă recunoască data viitoare.
consent-source-register = Aceste informații provin din registrul național și din contul dumneavoastră „{ $provider }”.
consent-source-provider = Aceste informații provin din contul dumneavoastră „{ $provider }”.
consent-account = V-ați autentificat cu contul dumneavoastră „{ $provider }”.
consent-offline = „{ $service }” le va putea primi din nou și mai târziu, în lipsa dumneavoastră.
value-none = necomunicat
value-code = cod { $code }
country-99100 = Franța
claim-given-names = Prenume
claim-family-name = Nume de familie la naștere
claim-birthdate = Data nașterii
claim-gender = Sex
claim-birthplace = Locul nașterii
claim-birthcountry = Țara nașterii
claim-preferred-username = Nume actual
claim-email = Adresă de e-mail
claim-name = Nume complet
claim-middle-name = Al doilea prenume
claim-nickname = Poreclă
claim-profile = Pagină de profil
claim-picture = Fotografie
claim-website = Site web
claim-zoneinfo = Fus orar
claim-locale = Limbă
claim-updated-at = Ultima modificare a profilului
claim-email-verified = Adresă de e-mail verificată
claim-phone-number = Număr de telefon
claim-phone-number-verified = Număr de telefon verificat
claim-address = Adresă poștală
value-yes = Da
value-no = Nu
gender-female = feminin
gender-male = masculin
gender-unspecified = nespecificat

## Errors: what happened

error-bad-request = Cererea serviciului nu este corectă.
error-not-found = Această pagină nu există.
error-method = Această pagină nu poate fi folosită astfel.
error-timeout = Transmiterea cererii a durat prea mult.
error-too-large = Cererea este prea mare.
error-unknown-host = Această adresă nu este cea corectă.
error-internal = A apărut o eroare la noi.
error-unavailable = Serviciul nostru este indisponibil pentru scurt timp.
error-busy = Prea multe persoane se autentifică în acest moment.
error-network-limited = Din rețeaua dumneavoastră s-au început prea multe autentificări într-un minut.
error-service-limited = Serviciul a început prea multe autentificări într-un minut.
error-register = Registrul național nu a putut confirma identitatea dumneavoastră.
error-register-unavailable = Registrul național nu răspunde.
error-identity-incomplete = Din contul dumneavoastră lipsește o informație necesară.
error-identity-malformed = O informație din contul dumneavoastră nu poate fi citită.
error-idp-unavailable = Acest cont nu poate fi folosit.
error-idp-trouble = Organizația care administrează acest cont are o problemă tehnică.
error-hub-clock = Ceasul acestui site de autentificare este greșit, de aceea nu vă puteți autentifica acum. Administratorul site-ului trebuie să îl corecteze.
error-idp-busy = Prea multe persoane folosesc acest cont în acest moment.
error-idp-denied = Autentificarea a fost oprită înainte de a se încheia.
error-password-change = Parola este corectă, dar trebuie să o schimbați înainte de a vă autentifica aici.
error-account-disabled = Parola este corectă, dar acest cont este închis sau a expirat. Contactați organizația care administrează acest cont.
error-account-hours = Parola este corectă, dar acest cont nu poate fi folosit la această oră. Încercați mai târziu sau contactați organizația care administrează acest cont.
error-account-not-permitted = Parola este corectă, dar acest cont nu are voie să se autentifice aici. Contactați organizația care administrează acest cont.
error-account-refused = Parola nu a fost verificată, deoarece acest cont nu poate fi folosit: poate fi blocat sau închis. Contactați organizația care administrează acest cont.
error-assurance = Autentificarea nu este suficient de sigură pentru acest serviciu.
error-login-unknown = Această autentificare nu există sau nu mai există.
error-login-other-browser = Această autentificare a început în alt browser sau acesta și-a pierdut modulele cookie.
error-idp-answer = Răspunsul organizației care administrează acest cont nu poate fi folosit.
error-login-order = Ați continuat în altă filă.
error-login-done = Această autentificare s-a încheiat deja.
error-login-expired = Această autentificare a durat prea mult.
error-login-too-many = Această autentificare a fost închisă: erau prea multe deschise.
error-repeated-cookie = Browserul dumneavoastră a trimis de două ori același modul cookie al acestui site. Din motive de siguranță, nu s-a făcut nimic.
error-idp-blocked = Autentificarea cu acest cont este suspendată momentan.
error-idp-blocked-for-service = Autentificarea la acest serviciu cu acest cont este suspendată momentan.
error-idp-reauthentication = Acest serviciu impune să vă autentificați din nou, iar acest cont nu poate dovedi că ați făcut-o.
error-redirect-withdrawn = Serviciul și-a schimbat adresa în timpul autentificării dumneavoastră. Nu i s-a trimis nimic.
error-scope-withdrawn = Serviciul nu mai are dreptul să primească aceste informații.
error-gate = Acest cont nu poate fi folosit pentru acest serviciu.
error-login-interrupted = Autentificarea a fost întreruptă.
error-cancelled = Ați anulat autentificarea.
error-refused = Ați refuzat să trimiteți informațiile dumneavoastră.
error-login-required = Trebuie să vă autentificați pentru a continua.
error-consent-required = Este nevoie de acordul dumneavoastră pentru a continua.
error-mail-address = Această autentificare necesită un cod prin e-mail, dar contul dumneavoastră nu are o adresă de e-mail.
error-mail-address-unusable = Această autentificare necesită un cod prin e-mail, dar nu putem trimite mesaje la adresa de e-mail a contului dumneavoastră.
error-mail-unreadable = Pentru a vă autentifica cu acest cont, aveți nevoie de codul pe care îl trimitem prin e-mail.
error-mail-code-wrong = Au fost introduse prea multe coduri greșite.
error-mail-limited = Pentru acest cont au fost trimise sau introduse prea multe coduri. Încercați din nou mai târziu.
error-mail-unavailable = Momentan nu vă putem trimite un cod prin e-mail.
error-csrf = Din motive de siguranță, acest formular nu a fost acceptat.

## Errors: who can fix it, and what to do next

responsible-user = Nu s-a pierdut nimic: puteți începe din nou.
responsible-user-other = Vă puteți autentifica cu alt cont sau puteți reveni la serviciu.
responsible-register = Este posibil ca datele contului dumneavoastră să difere de cele din registru, de exemplu numele sau data nașterii. Cereți organizației care administrează contul să le verifice sau folosiți alt cont.
register-correction = Dacă greșeala este chiar în registru, ea se corectează aici:
responsible-identity = Cereți organizației care administrează contul să o completeze sau să o corecteze ori folosiți alt cont.
responsible-mailbox = Dacă această adresă de e-mail nu mai este a dumneavoastră, cereți ajutor: ea poate fi eliminată.
responsible-cookies = Permiteți modulele cookie pentru acest site. Reveniți apoi la site-ul serviciului și autentificați-vă din nou, fără a schimba browserul.
responsible-repeated-cookie = Deschideți o fereastră privată a browserului, mergeți pe site-ul serviciului și autentificați-vă acolo. Pentru a folosi din nou o fereastră obișnuită, ștergeți modulele cookie ale acestui site din setările browserului.
responsible-newer-tab = Continuați în fila sau fereastra pe care ați deschis-o ultima. Pe aceasta o puteți închide.
responsible-connection = Conexiunea dumneavoastră la internet poate fi lentă. Verificați-o, apoi încercați din nou.
responsible-user-continue = Nu s-a pierdut nimic: puteți continua.
responsible-other-tab = Ceea ce ați făcut aici ține de un pas anterior. Nu s-a pierdut nimic: continuați aici sau în cealaltă filă.
responsible-finished = Ați încheiat-o aici sau în altă filă. Puteți închide această pagină. Pentru a vă autentifica din nou, porniți de la serviciu.
retry-later = Nu s-a pierdut nimic. Încercați din nou peste câteva minute.
retry-wait = { $seconds ->
    [one] Nu s-a pierdut nimic. Puteți încerca din nou peste { $seconds } secundă.
    [few] Nu s-a pierdut nimic. Puteți încerca din nou peste { $seconds } secunde.
   *[other] Nu s-a pierdut nimic. Puteți încerca din nou peste { $seconds } de secunde.
}
retry-auto = Această pagină va încerca apoi din nou singură.
retry-auto-later = Această pagină încearcă și singură, de câteva ori.
retry-stop = Nu încerca automat
responsible-service = Numai serviciul de la care ați venit poate remedia problema. Comunicați-i referințele din partea de jos a paginii.
responsible-provider = Organizația care administrează contul dumneavoastră trebuie să remedieze problema. Comunicați-i referințele din partea de jos a paginii. Un alt cont ar putea funcționa.
responsible-answer = Nu este vina serviciului: organizația care administrează contul a trimis un răspuns greșit sau un răspuns la o încercare mai veche. Puteți continua autentificarea; un alt cont ar putea funcționa.
responsible-answer-alone = Nu este vina serviciului: organizația care administrează contul a trimis un răspuns greșit, iar în acest browser nu este în curs nicio autentificare. Puteți închide această pagină, apoi puteți reveni la site-ul serviciului.
responsible-operator = Remedierea problemei ține de noi. Încercați din nou peste câteva minute.
error-no-way = Puteți închide această pagină, apoi puteți reveni la site-ul serviciului.
support-link = Cereți ajutor
error-claim = Informația în cauză: { $claim }.
error-service = Serviciu: „{ $service }”
error-account = Cont: „{ $provider }”
action-again = Încercați din nou
action-continue = Continuați autentificarea
action-other = Alegeți alt cont
action-service = Reveniți la „{ $service }”
action-service-unnamed = Reveniți la serviciu
action-home = Reîncepeți de la „{ $service }”
action-home-unnamed = Reîncepeți de la serviciu
action-sign-out = Deconectare de aici
refs-title = Informații pentru asistență
refs-code = Cod
refs-precise = Al doilea cod
refs-support = Referință
refs-time = Data
refs-developer = Pentru echipa tehnică a serviciului

## Return to the service, signed out

return-title = Înapoi la serviciu
return-lead = Reveniți la „{ $service }”. Dacă nu se întâmplă nimic, folosiți butonul.
return-go = Continuați
log-out-title = Doriți să vă deconectați?
log-out-requested = „{ $service }” vă solicită să vă deconectați.
log-out-account = V-ați autentificat aici cu contul dumneavoastră „{ $provider }”. După deconectare, fiecare serviciu vă va cere să vă autentificați din nou.
log-out-no-session = Se pare că nimeni nu este autentificat aici în acest browser. Pentru siguranță, vă puteți totuși deconecta.
log-out-go = Deconectare
log-out-stay = Nu vă deconectați și reveniți la „{ $service }”
log-out-close = Dacă nu doriți să vă deconectați, închideți pur și simplu această pagină.
landing-title = O singură autentificare pentru mai multe servicii
landing-go = Pe această pagină nu vă autentificați. Mergeți la site-ul serviciului pe care doriți să îl folosiți și alegeți acolo autentificarea: veți fi adus înapoi aici.
landing-shared = Ați folosit un dispozitiv comun? Deconectați-vă aici înainte de a pleca.
logged-out-title = V-ați deconectat
logged-out-lead = Sesiunea dumneavoastră de aici s-a încheiat.
logged-out-provider = V-ați deconectat și de la contul „{ $provider }”.
logged-out-services = Serviciile pe care le-ați folosit vă pot păstra în continuare conectat. Deconectați-vă și de la fiecare dintre ele:
logged-out-unreached = Nu am putut informa „{ $provider }”. Pentru siguranță, deconectați-vă și de la acel cont sau închideți browserul.
logged-out-start = La pagina de start

## Sandbox

sandbox-ribbon = Mediu de testare: nimic nu este real aici
sandbox-title = Cine doriți să fiți?
sandbox-lead = „{ $provider }” este un cont de probă. Alegeți o persoană și ce trebuie să se întâmple.
sandbox-person = Persoană
sandbox-level = Siguranța autentificării
sandbox-level-too-low = Sub nivelul cerut: va fi refuzată
sandbox-methods = Mijloace folosite
sandbox-failure = Ce trebuie să se întâmple?
sandbox-go = Autentificare

## Demonstration service

demo-title = Încercați o autentificare
demo-lead = Acest serviciu fictiv arată o autentificare completă, apoi tot ce a primit. Nicio informație nu este reală.
demo-step-1 = Alegeți un cont de probă.
demo-step-2 = Alegeți cine sunteți.
demo-step-3 = Vedeți ce primește serviciul.
demo-standard = Platforma standard
demo-standard-lead = Identitatea provine din registrul național. Tokenurile sunt semnate.
demo-high = Platforma de nivel ridicat
demo-high-lead = Identitatea provine de la furnizorul contului. Tokenurile sunt semnate, apoi criptate: numai acest serviciu le poate citi.
demo-sign-in-eidas1 = Autentificare, nivel scăzut (eidas1)
demo-sign-in-eidas2 = Autentificare, nivel substanțial (eidas2)
demo-sign-in-eidas3 = Autentificare, nivel ridicat (eidas3)
demo-in-title = V-ați autentificat
demo-in-lead = Iată tot ce a primit serviciul, după verificare.
demo-claims = Informații primite
demo-in-encrypted = Ambele tokenuri au sosit criptate; cheia privată a serviciului le-a decriptat.
demo-id-token = Token de identitate
demo-jwe-header = Antetul criptării (JWE)
demo-header = Antetul semnăturii (JWS)
demo-payload = Conținut
demo-userinfo = Informațiile persoanei (userinfo)
demo-data = Ce află un furnizor de date
demo-data-lead = Serviciul l-a apelat cu tokenul de acces, iar furnizorul a întrebat hubul al cui este acel token.
demo-token-answer = Răspunsul punctului de acces la tokenuri
demo-sign-out = Deconectare
demo-sign-in-again = Autentificați-vă din nou
demo-error-title = Autentificarea nu a reușit
demo-error-lead = Serviciul a primit acest răspuns în locul unei autentificări.
demo-wallet-title = Portofel demonstrativ
demo-wallet-lead = Documentele din acest portofel sunt fictive. „{ $hub }” cere:
demo-wallet-agree = Acceptați și trimiteți
demo-wallet-decline = Refuzați
demo-error-code = Eroare
demo-error-description = Descriere
demo-refused-lead = Serviciul a primit un răspuns în care nu poate avea încredere sau nu a primit niciunul. Nu a folosit nimic din el.
demo-refused-reason = Motiv
sandbox-level-eidas1 = Scăzut (eidas1)
sandbox-level-eidas2 = Substanțial (eidas2)
sandbox-level-eidas3 = Ridicat (eidas3)
sandbox-failure-none = Totul merge bine
sandbox-failure-cancel = Persoana renunță
sandbox-failure-error = Furnizorul contului are o defecțiune
sandbox-failure-missing-claim = Identitatea sosește fără data nașterii
sandbox-failure-unknown-person = Registrul nu cunoaște această persoană
sandbox-failure-level-too-low = Autentificarea este mai puțin sigură decât s-a cerut
demo-sign-in-consent = Autentificare și consimțământ (eidas1)
demo-methods = Cum s-a autentificat persoana
demo-method-mark = Marcajul hubului
demo-out-title = V-ați deconectat
demo-out-lead = Ce s-a încheiat, în măsura în care un serviciu poate ști:
demo-out-service = Acest serviciu: sesiunea sa s-a încheiat.
demo-out-hub = Hubul: sesiunea sa s-a încheiat. A trimis browserul înapoi cu valoarea „state” a acestei deconectări.
demo-out-hub-unknown = Hubul: nu se știe. Nu a trimis browserul înapoi.
demo-out-provider = Furnizorul contului: hubul trimite browserul acolo pentru deconectare, unde este posibil. Un serviciu nu primește nicio confirmare.
demo-out-provider-unknown = Furnizorul contului: nu se știe.
demo-next = Ce puteți vedea acum:
demo-next-start = autentificați-vă. La alegerea contului, unul este blocat și altul nu poate fi contactat: vedeți ce i se arată persoanei. Mai multe în { $page }
demo-next-in = consola operatorului numără această autentificare și nu arată niciun nume. Pentru autentificarea dintr-o aplicație proprie, consultați { $page }
demo-next-out = autentificați-vă din nou: alegeți iarăși contul și persoana, pentru că nu a rămas nicio sesiune. Mai multe în { $page }
demo-next-error = dacă o pagină a arătat o referință, căutați-o în consola operatorului. Toate codurile de eroare sunt în { $page }
demo-console-standard = Consola operatorului, standard
demo-console-high = Consola operatorului, nivel ridicat
sandbox-next = la „Ce trebuie să se întâmple?”, alegeți o eroare și vedeți ce primesc persoana și serviciul. Mai multe în { $page }
method-pwd = Parolă
method-pin = PIN
method-kba = Întrebări personale
method-otp = Cod de unică folosință
method-sms = SMS
method-tel = Apel telefonic
method-hwk = Cheie fizică
method-swk = Cheie software
method-sc = Card inteligent
method-pop = Dovada unei chei
method-face = Față
method-fpt = Amprentă digitală
method-iris = Iris
method-retina = Retină
method-vbm = Voce
method-mail = E-mail
method-geo = Locație
method-mca = Mai multe canale
method-rba = Evaluarea riscului
method-user = Prezența persoanei
method-wia = Autentificare Windows
method-mfa = Mai mulți factori

# What the operator has to say to everybody
notice-warning = Important:
notice-more = Aflați mai multe

## The pages about an OAuth error, for developers

oauth-error-title = Eroarea { $error }
oauth-error-lead = Această pagină se adresează celor care dezvoltă sau administrează un serviciu. Hubul a răspuns cu această eroare la o cerere a serverului serviciului. Dacă doreați doar să vă autentificați, reveniți la serviciu.
oauth-error-causes = Cauze posibile și ce este de făcut
oauth-error-precise = Această pagină este aceeași pentru fiecare dintre aceste cauze, ca să nu dezvăluie niciun serviciu; error_description poate spune mai mult. Operatorul hubului poate găsi cauza exactă în jurnal, cu ora și client_id-ul dumneavoastră.
oauth-error-documentation = Documentație pentru servicii
oauth-error-invalid-request =
    Un parametru lipsește, este gol sau este trimis de două ori: error_description îl numește. Trimiteți-l o singură dată.
    Corpul cererii nu este un formular: trimiteți-l ca application/x-www-form-urlencoded.
    Clientul se autentifică în două moduri, de exemplu în antet și în corp: folosiți-l numai pe cel înregistrat.
oauth-error-invalid-client =
    Clientul se autentifică prin altă metodă decât cea înregistrată. Multe biblioteci trimit secretul în antet; în mod implicit, hubul așteaptă client_secret_post, în corp.
    Secretul este greșit, a expirat sau nu este încă valabil. Comparați-l, fără spații în jurul lui, și cereți operatorului unul nou dacă este nevoie.
    Valoarea client_id este necunoscută aici sau dezactivată: fiecare platformă și fiecare mediu o are pe a sa.
    O aserțiune semnată nu este acceptată: verificați cheia, aud (emitentul), exp și faptul că jti este nou.
oauth-error-invalid-grant =
    Codul este prea vechi sau a mai fost folosit: schimbați-l o singură dată, imediat ce sosește.
    Valoarea redirect_uri diferă de cea din cererea de autorizare.
    Valoarea code_verifier aparține altei autentificări: păstrați-o în sesiunea browserului care a început autentificarea.
    Codul a fost emis pentru alt client sau utilizatorul s-a deconectat între timp.
oauth-error-unsupported-grant-type =
    Parametrul grant_type trebuie să fie authorization_code sau refresh_token, dacă serviciul este înregistrat pentru tokenuri de reîmprospătare. Fără acestea, începeți o nouă autentificare: cu prompt=none, aceasta nu afișează nicio pagină cât timp durează sesiunea.
oauth-error-temporarily-unavailable =
    Hubul este supraîncărcat sau nu poate prelua cheile de la jwks_uri: încercați din nou în scurt timp sau după Retry-After, dacă răspunsul îl conține.
    Au fost prea multe autentificări nereușite cu client_id-ul dumneavoastră: corectați datele de autentificare, apoi așteptați.
oauth-error-server-error =
    Hubul a avut o eroare internă: comunicați operatorului său ora și client_id-ul dumneavoastră.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = Ce face hubul cu această cerere?
diagnostics-lead = Lipiți adresa către care serviciul dumneavoastră trimite browserul. Hubul explică fiecare parametru și nu începe nicio autentificare.
diagnostics-result = Rezultat
diagnostics-parameters = Parametru cu parametru
diagnostics-url = Adresa cererii de autorizare
diagnostics-help = De la https:// până la ultimul parametru. Adresa nu se păstrează și nu se afișează din nou.
diagnostics-go = Explicați
token-diagnostic-title = De ce nu a reușit cererea de tokenuri
token-diagnostic-lead = Această pagină poate fi deschisă timp de zece minute. Numai un mediu de testare indică cauza exactă; în producție, serviciul dumneavoastră vede doar eroarea.
token-diagnostic-fix = Ce este de făcut
