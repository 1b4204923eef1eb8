public-status-title = Starea serviciului
public-status-feed = { $hub }: starea serviciului
public-status-no-problem = Vă puteți autentifica cu toate conturile.
public-status-problems = Probleme în curs
public-status-planned-title = Întreruperi planificate
public-status-down = nu funcționează
public-status-degraded = funcționează din nou, după probleme recente
public-status-blocked = suspendat
public-status-planned = întrerupere planificată
public-status-begins = Început:
public-status-ends = Sfârșit:
public-status-from = Începând cu { $time }.
public-status-until = Până la { $time }.
public-status-time = Situația la
public-accessibility-title = Declarație de accesibilitate
public-accessibility-scope = Această declarație privește paginile de autentificare ale „{ $hub }”, pe care oricine trebuie să le poată folosi (Directiva (UE) 2016/2102).
public-accessibility-conformity = Conformitate
public-accessibility-full = Paginile sunt conforme cu standardul EN 301 549 și cu WCAG 2.1, nivelul AA.
public-accessibility-partial = Paginile sunt parțial conforme cu standardul EN 301 549 și cu WCAG 2.1, nivelul AA: excepțiile sunt indicate mai jos.
public-accessibility-none = Paginile nu sunt conforme cu standardul EN 301 549 și cu WCAG 2.1, nivelul AA: motivele sunt indicate mai jos.
public-accessibility-defects = Conținut neaccesibil
public-accessibility-preparation = Întocmirea declarației
public-accessibility-prepared = Declarația a fost întocmită la { $date }.
public-accessibility-self = Se bazează pe o evaluare efectuată de administratorul site-ului.
public-accessibility-external = Se bazează pe o evaluare efectuată de o altă organizație.
public-accessibility-feedback = Semnalați o problemă
public-accessibility-contact = Scrieți-ne dacă întâmpinați un obstacol sau dacă aveți nevoie de conținut în altă formă:
public-accessibility-enforcement = Dacă răspunsul nostru nu vă mulțumește
public-accessibility-body = Vă puteți adresa acestei autorități:
public-privacy-title = Protecția datelor
public-privacy-scope = Această pagină privește datele pe care „{ $hub }” le prelucrează când vă autentificați la un serviciu.
public-privacy-controller = Operatorul de date
public-privacy-officer = Responsabilul cu protecția datelor:
public-privacy-purpose-title = La ce folosesc datele
public-privacy-purpose = Cu ajutorul lor, serviciul pe care l-ați ales află în mod sigur cine sunteți.
public-privacy-basis = Temeiul juridic:
public-privacy-data-title = Ce date, și de unde provin
public-privacy-data = Contul pe care îl alegeți arată cine sunteți, cum v-ați autentificat și cât de sigură este autentificarea. Un serviciu primește numai ce are dreptul să ceară.
public-privacy-register = Un registru de evidență a persoanelor confirmă sau completează aceste date.
public-privacy-recipients = Cine le primește
public-privacy-service = serviciul la care vă autentificați
public-privacy-periods = Cât timp sunt păstrate
public-privacy-login = Datele unei autentificări neterminate: cel mult { $period }.
public-privacy-session = Datele sesiunii dumneavoastră: până la deconectare sau { $idle } fără utilizare, cel mult { $period }.
public-privacy-refresh = Date pentru un serviciu care le poate primi din nou în lipsa dumneavoastră: cel mult { $period } sau până vă retrageți acordul.
public-privacy-recent = Orele, serviciile și erorile autentificărilor recente, fără numele dumneavoastră, pentru asistență: cel mult { $period }.
public-privacy-audit = Jurnal de audit, cu pseudonime, servicii și ore: { $period }.
public-privacy-audit-unlimited = Jurnal de audit, cu pseudonime, servicii și ore: fără termen fix.
public-privacy-choice = Modul cookie cu ultimul cont ales: { $period }.
public-privacy-rights-title = Drepturile dumneavoastră
public-privacy-rights = Puteți să vă consultați datele, să cereți rectificarea sau ștergerea lor, să cereți restricționarea folosirii lor și să vă opuneți folosirii lor.
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
