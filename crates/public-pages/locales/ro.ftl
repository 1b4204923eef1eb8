public-status-title = Starea serviciului
public-status-feed = Starea { $hub }
public-status-no-problem = Vă puteți autentifica cu toate conturile.
public-status-problems = Probleme acum
public-status-planned-title = Întreruperi planificate
public-status-down = nu funcționează
public-status-degraded = funcționează din nou, după erori recente
public-status-blocked = blocat
public-status-planned = întrerupere planificată
public-status-begins = Început:
public-status-ends = Sfârșit:
public-status-from = Din { $time }.
public-status-until = Până la { $time }.
public-status-time = Starea la
public-accessibility-title = Declarație de accesibilitate
public-accessibility-scope = Această declarație privește paginile de autentificare ale { $hub }, pe care oricine trebuie să le poată folosi (Directiva (UE) 2016/2102).
public-accessibility-conformity = Conformitate
public-accessibility-full = Paginile sunt conforme cu EN 301 549 și WCAG 2.1, nivelul AA.
public-accessibility-partial = Paginile sunt parțial conforme cu EN 301 549 și WCAG 2.1, nivelul AA: urmează excepțiile.
public-accessibility-none = Paginile nu sunt conforme cu EN 301 549 și WCAG 2.1, nivelul AA: urmează motivele.
public-accessibility-defects = Ce nu este accesibil
public-accessibility-preparation = Această declarație
public-accessibility-prepared = A fost întocmită la { $date }.
public-accessibility-self = Se bazează pe o evaluare a operatorului.
public-accessibility-external = Se bazează pe o evaluare a altei organizații.
public-accessibility-feedback = Semnalați o problemă
public-accessibility-contact = Scrieți-ne dacă ceva vă împiedică sau dacă aveți nevoie de o altă formă:
public-accessibility-enforcement = Dacă răspunsul nostru nu vă mulțumește
public-accessibility-body = Vă puteți adresa acestei autorități:
public-privacy-title = Notă privind protecția datelor
public-privacy-scope = Această notă privește datele pe care { $hub } le prelucrează când vă autentificați la un serviciu.
public-privacy-controller = Cine este responsabil
public-privacy-officer = Responsabilul cu protecția datelor:
public-privacy-purpose-title = La ce folosesc datele
public-privacy-purpose = Serviciul pe care l-ați ales află cine sunteți și se poate baza pe aceasta.
public-privacy-basis = Temei juridic:
public-privacy-data-title = Ce date, și de unde provin
public-privacy-data = Contul pe care îl alegeți spune cine sunteți, cum v-ați autentificat și cât de fiabil este. Un serviciu primește numai ce are dreptul să ceară.
public-privacy-register = Un registru de persoane le confirmă sau le completează.
public-privacy-recipients = Cine le primește
public-privacy-service = serviciul la care vă autentificați
public-privacy-periods = Cât timp sunt păstrate
public-privacy-login = Datele unei autentificări neterminate: cel mult { $period }.
public-privacy-session = Datele sesiunii dumneavoastră: până la deconectare, { $idle } fără utilizare, cel mult { $period }.
public-privacy-refresh = Date pentru un serviciu care poate reveni fără dumneavoastră: cel mult { $period }, sau până le retrageți.
public-privacy-recent = Orele, serviciile și erorile autentificărilor recente, fără numele dumneavoastră, pentru asistență: cel mult { $period }.
public-privacy-audit = Jurnal de audit, cu pseudonime, servicii și ore: { $period }.
public-privacy-audit-unlimited = Jurnal de audit, cu pseudonime, servicii și ore: fără termen fix.
public-privacy-choice = Un cookie cu ultimul cont ales: { $period }.
public-privacy-rights-title = Drepturile dumneavoastră
public-privacy-rights = Puteți să vă consultați datele, să cereți rectificarea sau ștergerea lor, restricționarea folosirii lor și să vă opuneți acesteia.
public-privacy-complaint = Puteți depune o plângere la:
public-status-available-count =
    { $count ->
        [one] { $count } cont funcționează.
        [few] { $count } conturi funcționează.
       *[other] { $count } de conturi funcționează.
    }
public-days =
    { $count ->
        [one] { $count } zi
        [few] { $count } zile
       *[other] { $count } de zile
    }
public-hours =
    { $count ->
        [one] { $count } oră
        [few] { $count } ore
       *[other] { $count } de ore
    }
public-minutes =
    { $count ->
        [one] { $count } minut
        [few] { $count } minute
       *[other] { $count } de minute
    }
