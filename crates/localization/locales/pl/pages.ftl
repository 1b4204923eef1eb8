### What a person reads. Short sentences, no protocol words.
### One word for one thing: „usługa” (who asks), „konto” (what you sign in with),
### „instytucja” (who runs the account), „logowanie”.

footer-label = Przydatne linki
language-name = Polski
language-label = Język
language-go = Zmień język

## Dates

month-1 = stycznia
month-2 = lutego
month-3 = marca
month-4 = kwietnia
month-5 = maja
month-6 = czerwca
month-7 = lipca
month-8 = sierpnia
month-9 = września
month-10 = października
month-11 = listopada
month-12 = grudnia
date-day = { $day } { $month } { $year }
date-month = nieznany dzień { $month } { $year }
date-year = { $year } (dzień i miesiąc nieznane)
date-time = { $date }, godz. { $time } (UTC)

## Choice of the account

choice-title = Wybór konta
choice-title-service = Logowanie do „{ $service }”
choice-lead = Proszę wybrać konto, którego chcą Państwo użyć.
site-line = „{ $hub }” umożliwia logowanie się do usług za pomocą konta, które już Państwo mają.
choice-asks = Usługa „{ $service }” prosi o zalogowanie się.
level-eidas1 = Wystarczy zwykłe konto.
level-eidas2 = Ta usługa wymaga bezpieczniejszego logowania: dwóch potwierdzeń, na przykład hasła i telefonu.
level-eidas3 = Ta usługa wymaga najbezpieczniejszego logowania, na przykład za pomocą elektronicznego dowodu osobistego.
choice-accounts = Dostępne konta
choice-banner = Nie udało się zalogować za pomocą konta „{ $provider }”.
choice-stopped = Logowanie za pomocą „{ $provider }” zostało przerwane.
choice-stopped-next = Do usługi nic nie przekazano. Proszę ponownie wybrać to konto lub inne.
choice-less-safe = Logowanie za pomocą „{ $provider }” nie było wystarczająco bezpieczne dla tej usługi.
choice-less-safe-next = Do usługi nic nie przekazano. Proszę wybrać inne konto albo ponownie to samo i zalogować się bezpieczniejszą metodą, jeśli jest dostępna.
choice-not-me = Wskazali Państwo, że to nie Państwo. Do usługi nic nie przekazano.
choice-not-me-next = „{ $provider }” może nadal pamiętać inną osobę: jeśli jej nazwisko pojawi się ponownie, proszę wylogować się w „{ $provider }”, a następnie wrócić.
choice-search = Wyszukaj konto według nazwy
choice-search-go = Szukaj
choice-found-none = Nie znaleziono dostępnego konta o nazwie „{ $query }”.
choice-show-all = Pokaż wszystkie konta
choice-total = Liczba dostępnych kont: { $total }. Właściwe konto można wyszukać według nazwy.
choice-range = Konta od { $first } do { $last } z { $total }
choice-found = { $total ->
    [one] Znaleziono { $total } konto
    [few] Znaleziono { $total } konta
    [many] Znaleziono { $total } kont
   *[other] Znaleziono { $total } konta
}
choice-email = Adres e-mail
choice-email-use = Wykorzystywana jest tylko część po znaku @, aby ustalić miejsce logowania. Adres nie jest zapisywany.
choice-email-go = Dalej
choice-email-list = Wybierz z listy
choice-email-again = Podaj adres e-mail
choice-email-malformed = Proszę podać pełny adres e-mail, na przykład nazwa@example.org.
choice-email-found = Konta dla adresów w domenie „{ $domain }”:
choice-email-unknown = Nie ma konta dla adresów w domenie „{ $domain }”. Proszę wybrać konto z listy.
choice-last-used = Ostatnio używane konto
choice-forget = Nie zapamiętuj tego konta
choice-others = Inne konta
choice-see-category = { $category }: zobacz wszystkie konta ({ $total })
choice-letters = Konta według pierwszej litery
choice-pages = Strony listy
choice-previous = Poprzednie konta
choice-next = Następne konta
choice-none = Obecnie żadne konto nie jest dostępne.
choice-no-account = Nie mam żadnego z tych kont
choice-unavailable = Obecnie niedostępne
choice-recent-trouble = Przed chwilą wystąpił problem
choice-unavailable-more = { $total ->
    [one] Oraz { $total } inne konto: aby poznać przyczynę, proszę wyszukać jego nazwę.
    [few] Oraz { $total } inne konta: aby poznać przyczynę, proszę wyszukać nazwę konta.
    [many] Oraz { $total } innych kont: aby poznać przyczynę, proszę wyszukać nazwę konta.
   *[other] Oraz { $total } innego konta: aby poznać przyczynę, proszę wyszukać nazwę konta.
}
choice-cancel = Anuluj i wróć do usługi „{ $service }”
why-too-low = Logowanie niewystarczająco bezpieczne dla tej usługi
why-no-reauthentication = Nie pozwala na ponowne logowanie, którego wymaga ta usługa
why-not-for-service = Nie można go użyć w tej usłudze
why-in-trouble = Obecnie nie działa
why-off = Obecnie wyłączone
why-blocked = Obecnie zawieszone

## Typing a password, for an account whose organisation has no page of its own

sign-in-title = Logowanie za pomocą konta „{ $provider }”
sign-in-username = Nazwa użytkownika
sign-in-password = Hasło
sign-in-show = Pokaż hasło
sign-in-hide = Ukryj hasło
sign-in-forgotten = Nie pamiętam hasła
sign-in-whose = Proszę wpisać wyłącznie hasło do konta „{ $provider }”. Sprawdza je instytucja prowadząca konto; tutaj nie jest ono nigdzie zapisywane.
sign-in-go = Zaloguj się
sign-in-other = Wybierz inne konto
sign-in-empty = Proszę wpisać nazwę użytkownika i hasło.
sign-in-wrong = Nieprawidłowa nazwa użytkownika lub nieprawidłowe hasło albo konto jest czasowo zablokowane.
sign-in-last = Pozostała jeszcze jedna próba. Jeśli i ona będzie nieudana, przed następną trzeba będzie poczekać.
sign-in-wait = { $minutes ->
    [one] Zbyt wiele nieudanych prób. Proszę odczekać jedną minutę i spróbować ponownie.
    [few] Zbyt wiele nieudanych prób. Proszę odczekać { $minutes } minuty i spróbować ponownie.
   *[many] Zbyt wiele nieudanych prób. Proszę odczekać { $minutes } minut i spróbować ponownie.
}
sign-in-new-password = Ustaw nowe hasło
password-title = Hasło
password-must-change = Hasło zostało przyjęte, ale należy je zmienić.
password-sign-ins-left = Hasło wygasło. Proszę zmienić je teraz. Liczba pozostałych logowań: { $count }.
password-expires = Hasło wkrótce wygaśnie. Proszę zmienić je na czas. Pozostało dni: { $days }.
password-where = Hasło można zmienić tutaj: „{ $provider }”.

## A code by mail

mail-page-title = Proszę wpisać kod, który wysłaliśmy e-mailem
mail-page-sent = Wysłaliśmy kod na adres { $address }. Kod jest ważny przez dziesięć minut.
mail-page-why = Usługa „{ $service }” wymaga tego kodu oprócz hasła.
mail-page-code = Sześciocyfrowy kod
mail-page-go = Dalej
mail-page-wrong = Ten kod jest nieprawidłowy. Liczba pozostałych prób: { $count }.
mail-page-expired = Ten kod stracił ważność. Można poprosić o nowy.
mail-page-missing = E-mail nie dotarł w ciągu minuty? Proszę sprawdzić także folder ze spamem albo poprosić o nowy kod.
mail-page-resend = Wyślij nowy kod
mail-page-reload = Nowy kod będzie można wysłać za minutę: odśwież stronę
mail-page-unreadable = Nie mam dostępu do tej skrzynki

## What is sent

inform-title = Dane przekazywane tej usłudze
inform-lead = Usługa „{ $service }” otrzyma:
inform-why = Usługa „{ $service }” prosi o te dane, aby rozpoznać osobę, która się loguje. Nic nie zostanie wysłane przed przejściem dalej.
inform-go = Przejdź do usługi „{ $service }”
inform-cancel = Nie kontynuuj
consent-title = Czy wyrażają Państwo zgodę na przekazanie tych danych?
consent-lead = Usługa „{ $service }” prosi o przekazanie:
consent-yes = Tak, zgadzam się
consent-no = Nie, odmawiam
consent-person = Loguje się
consent-not-me = To nie ja
consent-pseudonym = Usługa „{ $service }” nie otrzyma imienia i nazwiska ani żadnych innych danych. Otrzyma tylko numer utworzony dla tej usługi, aby następnym razem rozpoznać tę samą osobę.
consent-source-register = Te dane pochodzą z rejestru państwowego i z konta „{ $provider }”.
consent-source-provider = Te dane pochodzą z konta „{ $provider }”.
consent-account = Zalogowano za pomocą konta „{ $provider }”.
consent-offline = Usługa „{ $service }” będzie mogła otrzymać te dane ponownie później, także pod Państwa nieobecność.
value-none = nie podano
value-code = kod { $code }
country-99100 = Francja
claim-given-names = Imiona
claim-family-name = Nazwisko rodowe
claim-birthdate = Data urodzenia
claim-gender = Płeć
claim-birthplace = Miejsce urodzenia
claim-birthcountry = Kraj urodzenia
claim-preferred-username = Używane nazwisko
claim-email = Adres e-mail
claim-name = Imię i nazwisko
claim-middle-name = Drugie imię
claim-nickname = Pseudonim
claim-profile = Strona profilu
claim-picture = Zdjęcie
claim-website = Strona internetowa
claim-zoneinfo = Strefa czasowa
claim-locale = Język
claim-updated-at = Ostatnia zmiana profilu
claim-email-verified = Adres e-mail zweryfikowany
claim-phone-number = Numer telefonu
claim-phone-number-verified = Numer telefonu zweryfikowany
claim-address = Adres pocztowy
value-yes = Tak
value-no = Nie
gender-female = kobieta
gender-male = mężczyzna
gender-unspecified = nie określono

## Errors: what happened

error-bad-request = Żądanie usługi jest nieprawidłowe.
error-not-found = Ta strona nie istnieje.
error-method = Z tej strony nie można korzystać w ten sposób.
error-timeout = Przesyłanie żądania trwało zbyt długo.
error-too-large = Żądanie jest zbyt duże.
error-unknown-host = To nie jest właściwy adres.
error-internal = Wystąpił błąd po naszej stronie.
error-unavailable = Nasz serwis jest chwilowo niedostępny.
error-busy = W tej chwili loguje się zbyt wiele osób.
error-network-limited = W ciągu minuty z tej sieci rozpoczęto zbyt wiele logowań.
error-service-limited = W ciągu minuty usługa rozpoczęła zbyt wiele logowań.
error-register = Rejestr państwowy nie mógł potwierdzić tożsamości.
error-register-unavailable = Rejestr państwowy nie odpowiada.
error-identity-incomplete = Na koncie brakuje wymaganych danych.
error-identity-malformed = Nie można odczytać części danych z konta.
error-idp-unavailable = Tego konta nie można użyć.
error-idp-trouble = Instytucja prowadząca to konto ma problem techniczny.
error-hub-clock = Zegar tej strony logowania jest źle ustawiony, dlatego teraz nie można się zalogować. Musi go poprawić administrator strony.
error-idp-busy = Zbyt wiele osób korzysta teraz z kont tej instytucji.
error-idp-denied = Logowanie zatrzymano przed jego zakończeniem.
error-password-change = Hasło jest prawidłowe, ale należy je zmienić przed zalogowaniem się tutaj.
error-account-disabled = Hasło jest prawidłowe, ale konto jest zamknięte lub wygasło. Proszę skontaktować się z instytucją prowadzącą to konto.
error-account-hours = Hasło jest prawidłowe, ale o tej porze nie można korzystać z tego konta. Proszę spróbować później lub skontaktować się z instytucją prowadzącą to konto.
error-account-not-permitted = Hasło jest prawidłowe, ale to konto nie ma prawa logować się tutaj. Proszę skontaktować się z instytucją prowadzącą to konto.
error-account-refused = Hasło nie zostało sprawdzone, ponieważ z tego konta nie można korzystać: może być zablokowane lub zamknięte. Proszę skontaktować się z instytucją prowadzącą to konto.
error-assurance = Logowanie nie jest wystarczająco bezpieczne dla tej usługi.
error-login-unknown = To logowanie nie istnieje lub zostało już usunięte.
error-login-other-browser = To logowanie rozpoczęto w innej przeglądarce albo ta przeglądarka utraciła pliki cookie.
error-idp-answer = Nie można wykorzystać odpowiedzi instytucji prowadzącej to konto.
error-login-order = Logowanie było kontynuowane w innej karcie.
error-login-done = To logowanie zostało już zakończone.
error-login-expired = To logowanie trwało zbyt długo.
error-login-too-many = To logowanie zamknięto: zbyt wiele logowań było otwartych.
error-repeated-cookie = Przeglądarka wysłała ten sam plik cookie tej witryny dwa razy. Ze względów bezpieczeństwa nic nie zostało wykonane.
error-idp-blocked = Logowanie za pomocą tego konta jest obecnie zawieszone.
error-idp-blocked-for-service = Logowanie do tej usługi za pomocą tego konta jest obecnie zawieszone.
error-idp-reauthentication = Ta usługa wymaga ponownego zalogowania się, a to konto nie może go potwierdzić.
error-redirect-withdrawn = Podczas logowania usługa zmieniła adres. Niczego do niej nie wysłano.
error-scope-withdrawn = Usługa nie może już otrzymywać tych danych.
error-gate = Tego konta nie można użyć w tej usłudze.
error-login-interrupted = Logowanie zostało przerwane.
error-cancelled = Logowanie zostało anulowane na Państwa żądanie.
error-refused = Odmówili Państwo przekazania danych.
error-login-required = Aby kontynuować, trzeba się zalogować.
error-consent-required = Aby kontynuować, trzeba wyrazić zgodę.
error-mail-address = To logowanie wymaga kodu wysłanego e-mailem, a w danych konta brakuje adresu e-mail.
error-mail-address-unusable = To logowanie wymaga kodu wysłanego e-mailem, a na adres e-mail podany w danych konta nie można wysyłać wiadomości.
error-mail-unreadable = Do zalogowania się za pomocą tego konta potrzebny jest kod, który wysyłamy e-mailem.
error-mail-code-wrong = Zbyt wiele razy wpisano nieprawidłowy kod.
error-mail-limited = Dla tego konta wysłano lub wpisano zbyt wiele kodów. Proszę spróbować ponownie później.
error-mail-unavailable = Obecnie nie możemy wysłać kodu e-mailem.
error-csrf = Ze względów bezpieczeństwa formularz nie został przyjęty.

## Errors: who can fix it, and what to do next

responsible-user = Nic nie zostało utracone: można zacząć od nowa.
responsible-user-other = Można zalogować się za pomocą innego konta lub wrócić do usługi.
responsible-register = Dane Państwa konta mogą różnić się od danych w rejestrze, na przykład imiona, nazwisko lub data urodzenia. Proszę zwrócić się do instytucji prowadzącej konto o ich sprawdzenie albo użyć innego konta.
register-correction = Jeśli błąd jest w samym rejestrze, można go poprawić tutaj:
responsible-identity = Proszę zwrócić się do instytucji prowadzącej konto o ich uzupełnienie lub poprawienie albo użyć innego konta.
responsible-mailbox = Jeśli ta skrzynka nie należy już do Państwa, proszę zwrócić się o pomoc: stary adres można usunąć.
responsible-cookies = Proszę zezwolić na pliki cookie dla tej witryny. Następnie proszę wrócić na stronę usługi i zalogować się ponownie w tej samej przeglądarce.
responsible-repeated-cookie = Proszę otworzyć prywatne okno przeglądarki, przejść na stronę usługi i zalogować się w tym oknie. Aby znów używać zwykłego okna, należy usunąć pliki cookie tej witryny w ustawieniach przeglądarki.
responsible-newer-tab = Proszę kontynuować w karcie lub oknie otwartym jako ostatnie. Tę stronę można zamknąć.
responsible-connection = Połączenie z internetem może być wolne. Proszę je sprawdzić i spróbować ponownie.
responsible-user-continue = Nic nie zostało utracone: mogą Państwo kontynuować.
responsible-other-tab = To, co zrobili tu Państwo, należy do wcześniejszego kroku. Nic nie zostało utracone: mogą Państwo kontynuować tutaj albo w drugiej karcie.
responsible-finished = Zakończyło się ono tutaj albo w innej karcie. Mogą Państwo zamknąć tę stronę. Aby zalogować się ponownie, proszę zacząć od usługi.
retry-later = Nic nie zostało utracone. Proszę spróbować ponownie za kilka minut.
retry-wait = { $seconds ->
    [one] Nic nie zostało utracone. Można spróbować ponownie za { $seconds } sekundę.
    [few] Nic nie zostało utracone. Można spróbować ponownie za { $seconds } sekundy.
   *[other] Nic nie zostało utracone. Można spróbować ponownie za { $seconds } sekund.
}
retry-auto = Ta strona spróbuje wtedy ponownie sama.
retry-auto-later = Ta strona także kilka razy spróbuje sama.
retry-stop = Nie próbuj automatycznie
responsible-service = Ten błąd może usunąć tylko usługa, z której nastąpiło przejście na tę stronę. Proszę przekazać jej informacje podane na dole strony.
responsible-provider = Ten problem musi rozwiązać instytucja prowadząca konto. Proszę przekazać jej informacje podane na dole strony. Inne konto może zadziałać.
responsible-answer = To nie jest wina usługi: instytucja prowadząca konto przysłała błędną odpowiedź albo odpowiedź na wcześniejszą próbę. Można kontynuować logowanie; inne konto może zadziałać.
responsible-answer-alone = To nie jest wina usługi: instytucja prowadząca konto przysłała błędną odpowiedź, a w tej przeglądarce nie trwa żadne logowanie. Można zamknąć tę stronę i wrócić na stronę usługi.
responsible-operator = Usunięcie tego błędu należy do nas. Proszę spróbować ponownie za kilka minut.
error-no-way = Można zamknąć tę stronę i wrócić na stronę usługi.
support-link = Poproś o pomoc
error-claim = Dotyczy danych: { $claim }.
error-service = Usługa: „{ $service }”
error-account = Konto: „{ $provider }”
action-again = Spróbuj ponownie
action-continue = Kontynuuj logowanie
action-other = Wybierz inne konto
action-service = Wróć do usługi „{ $service }”
action-service-unnamed = Wróć do usługi
action-home = Zacznij od nowa w usłudze „{ $service }”
action-home-unnamed = Zacznij od nowa w usłudze
action-sign-out = Wyloguj się tutaj
refs-title = Informacje dla pomocy technicznej
refs-code = Kod
refs-precise = Drugi kod
refs-support = Numer sprawy
refs-time = Data
refs-developer = Dla zespołu technicznego usługi

## Return to the service, signed out

return-title = Powrót do usługi
return-lead = Za chwilę nastąpi powrót do usługi „{ $service }”. Jeśli nic się nie dzieje, proszę użyć przycisku.
return-go = Dalej
log-out-title = Czy chcą się Państwo wylogować?
log-out-requested = Usługa „{ $service }” prosi o wylogowanie się.
log-out-account = Zalogowano tutaj za pomocą konta „{ $provider }”. Po wylogowaniu każda usługa poprosi o ponowne zalogowanie się.
log-out-no-session = Wygląda na to, że w tej przeglądarce nikt nie jest tutaj zalogowany. Dla pewności można się mimo to wylogować.
log-out-go = Wyloguj się
log-out-stay = Nie wylogowuj i wróć do usługi „{ $service }”
log-out-close = Aby się nie wylogować, wystarczy zamknąć tę stronę.
landing-title = Jedno logowanie do wielu usług
landing-go = Na tej stronie nie można się zalogować. Proszę przejść na stronę usługi, z której chcą Państwo skorzystać, i tam wybrać logowanie: nastąpi powrót tutaj.
landing-shared = Korzystali Państwo ze wspólnego urządzenia? Proszę się tu wylogować przed odejściem.
logged-out-title = Wylogowano
logged-out-lead = Sesja została tutaj zakończona.
logged-out-provider = Nastąpiło także wylogowanie z konta „{ $provider }”.
logged-out-services = Usługi, z których Państwo korzystali, mogą nadal utrzymywać zalogowanie. Proszę wylogować się także z każdej z nich:
logged-out-unreached = Nie udało się przekazać informacji o wylogowaniu do konta „{ $provider }”. Dla bezpieczeństwa proszę wylogować się także z tego konta lub zamknąć przeglądarkę.
logged-out-start = Przejdź do strony startowej

## Sandbox

sandbox-ribbon = Środowisko testowe: nic tu nie jest prawdziwe
sandbox-title = Jako kto się zalogować?
sandbox-lead = „{ $provider }” to konto testowe. Proszę wybrać osobę i to, co ma się wydarzyć.
sandbox-person = Osoba
sandbox-level = Bezpieczeństwo logowania
sandbox-level-too-low = Poniżej wymaganego: nastąpi odmowa
sandbox-methods = Użyte metody
sandbox-failure = Co ma się wydarzyć?
sandbox-go = Zaloguj się

## Demonstration service

demo-title = Wypróbuj logowanie
demo-lead = Ta fikcyjna usługa pokazuje całe logowanie, a potem wszystko, co otrzymała. Żadne dane nie są prawdziwe.
demo-step-1 = Wybór konta testowego.
demo-step-2 = Wybór osoby.
demo-step-3 = Podgląd tego, co otrzymuje usługa.
demo-standard = Platforma standardowa
demo-standard-lead = Tożsamość pochodzi z rejestru państwowego. Tokeny są podpisane.
demo-high = Platforma o wysokim poziomie
demo-high-lead = Tożsamość pochodzi od dostawcy konta. Tokeny są podpisane, a następnie zaszyfrowane: może je odczytać tylko ta usługa.
demo-sign-in-eidas1 = Zaloguj się: poziom niski (eidas1)
demo-sign-in-eidas2 = Zaloguj się: poziom średni (eidas2)
demo-sign-in-eidas3 = Zaloguj się: poziom wysoki (eidas3)
demo-in-title = Zalogowano
demo-in-lead = Oto wszystko, co usługa otrzymała, po sprawdzeniu.
demo-claims = Otrzymane dane
demo-in-encrypted = Oba tokeny nadeszły zaszyfrowane; odszyfrował je klucz prywatny usługi.
demo-id-token = Token tożsamości (ID token)
demo-jwe-header = Nagłówek szyfrowania (JWE)
demo-header = Nagłówek podpisu (JWS)
demo-payload = Treść
demo-userinfo = Dane osoby (userinfo)
demo-data = Czego dowiaduje się dostawca danych
demo-data-lead = Usługa wywołała go z tokenem dostępu, a on zapytał węzeł, do kogo ten token należy.
demo-token-answer = Odpowiedź punktu końcowego tokenów
demo-sign-out = Wyloguj się
demo-sign-in-again = Zaloguj się ponownie
demo-error-title = Logowanie nie powiodło się
demo-error-lead = Zamiast potwierdzenia logowania usługa otrzymała tę odpowiedź.
demo-wallet-title = Portfel demonstracyjny
demo-wallet-lead = Dokumenty w tym portfelu są zmyślone. „{ $hub }” prosi o:
demo-wallet-agree = Zgoda i wysłanie
demo-wallet-decline = Odmowa
demo-error-code = Błąd
demo-error-description = Opis
demo-refused-lead = Usługa nie otrzymała odpowiedzi albo otrzymała taką, której nie może zaufać. Niczego z niej nie wykorzystała.
demo-refused-reason = Przyczyna
sandbox-level-eidas1 = Niski (eidas1)
sandbox-level-eidas2 = Średni (eidas2)
sandbox-level-eidas3 = Wysoki (eidas3)
sandbox-failure-none = Wszystko przebiega prawidłowo
sandbox-failure-cancel = Osoba rezygnuje
sandbox-failure-error = U dostawcy konta występuje awaria
sandbox-failure-missing-claim = W danych tożsamości brakuje daty urodzenia
sandbox-failure-unknown-person = Rejestr nie zna tej osoby
sandbox-failure-level-too-low = Logowanie jest mniej bezpieczne, niż wymagano
demo-sign-in-consent = Zaloguj się i wyraź zgodę (eidas1)
demo-methods = Jak zalogowała się osoba
demo-method-mark = Znacznik węzła
demo-out-title = Wylogowano
demo-out-lead = Co zostało zakończone, o ile usługa może to wiedzieć:
demo-out-service = Ta usługa: jej sesja została zakończona.
demo-out-hub = Węzeł: jego sesja została zakończona. Odesłał przeglądarkę z wartością „state” tego wylogowania.
demo-out-hub-unknown = Węzeł: nie wiadomo. Nie odesłał przeglądarki.
demo-out-provider = Dostawca konta: węzeł kieruje tam przeglądarkę, aby wylogować, jeśli to możliwe. Usługa nie otrzymuje potwierdzenia.
demo-out-provider-unknown = Dostawca konta: nie wiadomo.
demo-next = Co zobaczyć teraz:
demo-next-start = proszę się zalogować. Przy wyborze konta jedno jest zablokowane, a jedno nieosiągalne: widać wtedy, co pokazuje się osobie. Więcej: { $page }
demo-next-in = konsola operatora liczy to logowanie i nie pokazuje nazwiska. Jak zalogować się z własnej aplikacji, opisuje { $page }
demo-next-out = proszę zalogować się ponownie: konto i osobę wybiera się od nowa, bo nie ma już żadnej sesji. Więcej: { $page }
demo-next-error = jeśli strona pokazała numer sprawy, można go odszukać w konsoli operatora. Wszystkie kody błędów: { $page }
demo-console-standard = Konsola operatora, standardowa
demo-console-high = Konsola operatora, wysoki poziom
sandbox-next = w części „Co ma się wydarzyć?” proszę wybrać błąd i zobaczyć, co otrzymują osoba i usługa. Więcej: { $page }
method-pwd = Hasło
method-pin = PIN
method-kba = Pytania osobiste
method-otp = Kod jednorazowy
method-sms = SMS
method-tel = Rozmowa telefoniczna
method-hwk = Klucz sprzętowy
method-swk = Klucz programowy
method-sc = Karta elektroniczna
method-pop = Dowód posiadania klucza
method-face = Twarz
method-fpt = Odcisk palca
method-iris = Tęczówka
method-retina = Siatkówka
method-vbm = Głos
method-mail = E-mail
method-geo = Lokalizacja
method-mca = Kilka kanałów
method-rba = Ocena ryzyka
method-user = Obecność osoby
method-wia = Logowanie Windows
method-mfa = Kilka składników

# What the operator has to say to everybody
notice-warning = Ważne:
notice-more = Dowiedz się więcej

## The pages about an OAuth error, for developers

oauth-error-title = Błąd { $error }
oauth-error-lead = Ta strona jest przeznaczona dla osób, które tworzą lub utrzymują usługę. Węzeł odpowiedział tym błędem na żądanie serwera usługi. Jeśli celem było tylko zalogowanie się, proszę wrócić do usługi.
oauth-error-causes = Możliwe przyczyny i sposób postępowania
oauth-error-precise = Ta strona jest taka sama dla każdej z tych przyczyn, aby nie ujawniać żadnej usługi; więcej może wyjaśnić error_description. Operator węzła może znaleźć dokładną przyczynę w dzienniku na podstawie godziny i client_id.
oauth-error-documentation = Dokumentacja dla usług
oauth-error-invalid-request =
    Brakuje parametru, jest on pusty lub wysłany dwukrotnie: jego nazwę podaje error_description. Należy wysłać go jeden raz.
    Treść żądania nie jest formularzem: należy wysłać ją jako application/x-www-form-urlencoded.
    Klient uwierzytelnia się na dwa sposoby, na przykład w nagłówku i w treści: należy używać tylko sposobu zarejestrowanego.
oauth-error-invalid-client =
    Klient uwierzytelnia się inną metodą niż zarejestrowana. Wiele bibliotek wysyła sekret w nagłówku; domyślną metodą węzła jest client_secret_post, w treści żądania.
    Sekret jest błędny, wygasł lub nie jest jeszcze ważny. Należy go porównać, bez spacji na początku i na końcu, a w razie potrzeby poprosić operatora o nowy.
    Wartość client_id jest tu nieznana lub wyłączona: każda platforma i każde środowisko ma własną.
    Podpisana asercja nie została przyjęta: należy sprawdzić jej klucz, aud (wystawcę), exp oraz to, czy jti jest nowe.
oauth-error-invalid-grant =
    Kod jest zbyt stary lub został już użyty: należy go wymienić jeden raz, zaraz po otrzymaniu.
    Wartość redirect_uri różni się od tej z żądania autoryzacji.
    Wartość code_verifier należy do innego logowania: należy przechowywać ją w sesji przeglądarki, która rozpoczęła logowanie.
    Kod wydano innemu klientowi albo użytkownik w międzyczasie się wylogował.
oauth-error-unsupported-grant-type =
    Parametr grant_type musi mieć wartość authorization_code albo refresh_token, jeśli usługa jest zarejestrowana do używania tokenów odświeżania. Bez nich należy rozpocząć nowe logowanie: z prompt=none nie wyświetla ono żadnej strony, dopóki trwa sesja.
oauth-error-temporarily-unavailable =
    Węzeł jest przeciążony albo nie może pobrać kluczy spod adresu jwks_uri: należy spróbować ponownie za chwilę lub po czasie Retry-After, jeśli odpowiedź go zawiera.
    Było zbyt wiele nieudanych uwierzytelnień z tym client_id: należy poprawić dane uwierzytelniające, a następnie odczekać.
oauth-error-server-error =
    W węźle wystąpił błąd wewnętrzny: należy podać jego operatorowi godzinę i client_id.

## Diagnostics of a sandbox hub, for developers

diagnostics-title = Co węzeł robi z tym żądaniem?
diagnostics-lead = Proszę wkleić adres, pod który usługa kieruje przeglądarkę. Węzeł objaśnia każdy parametr i nie rozpoczyna logowania.
diagnostics-result = Wynik
diagnostics-parameters = Parametr po parametrze
diagnostics-url = Adres żądania autoryzacji
diagnostics-help = Od https:// do ostatniego parametru. Adres nie jest zapisywany ani ponownie wyświetlany.
diagnostics-go = Objaśnij
token-diagnostic-title = Dlaczego żądanie tokenu nie powiodło się
token-diagnostic-lead = Tę stronę można otwierać przez dziesięć minut. Dokładną przyczynę podaje tylko środowisko testowe; w środowisku produkcyjnym usługa widzi jedynie błąd.
token-diagnostic-fix = Co zrobić
