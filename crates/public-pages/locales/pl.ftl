public-status-title = Stan serwisu
public-status-feed = Stan serwisu { $hub }
public-status-no-problem = Można się zalogować za pomocą każdego konta.
public-status-problems = Bieżące problemy
public-status-planned-title = Planowane przerwy
public-status-down = nie działa
public-status-degraded = działa ponownie, niedawno występowały problemy
public-status-blocked = obecnie zawieszone
public-status-planned = planowana przerwa
public-status-begins = Początek:
public-status-ends = Koniec:
public-status-from = Od { $time }.
public-status-until = Do { $time }.
public-status-time = Stan na
public-accessibility-title = Deklaracja dostępności
public-accessibility-scope = Ta deklaracja dotyczy stron logowania serwisu { $hub }, z których każdy powinien móc korzystać (dyrektywa (UE) 2016/2102).
public-accessibility-conformity = Stan zgodności
public-accessibility-full = Strony są zgodne z EN 301 549 i WCAG 2.1 na poziomie AA.
public-accessibility-partial = Strony są częściowo zgodne z EN 301 549 i WCAG 2.1 na poziomie AA: wyjątki poniżej.
public-accessibility-none = Strony nie są zgodne z EN 301 549 i WCAG 2.1 na poziomie AA: powody poniżej.
public-accessibility-defects = Niedostępne treści
public-accessibility-preparation = Przygotowanie deklaracji
public-accessibility-prepared = Deklarację sporządzono dnia { $date }.
public-accessibility-self = Podstawą jest samoocena przeprowadzona przez operatora.
public-accessibility-external = Podstawą jest ocena przeprowadzona przez podmiot zewnętrzny.
public-accessibility-feedback = Zgłaszanie problemów
public-accessibility-contact = Jeśli coś jest niedostępne lub potrzebne w innej formie, proszę do nas napisać:
public-accessibility-enforcement = Jeśli nasza odpowiedź jest niezadowalająca
public-accessibility-body = Można zwrócić się do tego organu:
public-privacy-title = Polityka prywatności
public-privacy-scope = Ta informacja dotyczy danych, które serwis { $hub } przetwarza podczas logowania do usługi.
public-privacy-controller = Administrator danych
public-privacy-officer = Inspektor ochrony danych:
public-privacy-purpose-title = Do czego służą dane
public-privacy-purpose = Wybrana usługa dowiaduje się, kim jest użytkownik, i może polegać na tej informacji.
public-privacy-basis = Podstawa prawna:
public-privacy-data-title = Jakie dane i skąd pochodzą
public-privacy-data = Wybrane konto podaje, kim jest użytkownik, jak się zalogował i na ile jest to wiarygodne. Usługa otrzymuje tylko te dane, o które wolno jej prosić.
public-privacy-register = Rejestr osób potwierdza je lub uzupełnia.
public-privacy-recipients = Kto otrzymuje dane
public-privacy-service = usługa, do której loguje się użytkownik
public-privacy-periods = Jak długo dane są przechowywane
public-privacy-login = Dane niezakończonego logowania: najwyżej { $period }.
public-privacy-session = Dane sesji: do wylogowania, przy braku aktywności { $idle }, łącznie najwyżej { $period }.
public-privacy-refresh = Dane dla usługi, która może je ponownie pobierać pod nieobecność użytkownika: najwyżej { $period } lub do wycofania zgody.
public-privacy-recent = Daty, usługi i błędy ostatnich logowań, bez imienia i nazwiska, na potrzeby pomocy technicznej: najwyżej { $period }.
public-privacy-audit = Dziennik audytu z pseudonimami, usługami i datami: { $period }.
public-privacy-audit-unlimited = Dziennik audytu z pseudonimami, usługami i datami: bezterminowo.
public-privacy-choice = Plik cookie z ostatnio wybranym kontem: { $period }.
public-privacy-rights-title = Państwa prawa
public-privacy-rights = Mają Państwo prawo dostępu do swoich danych, ich sprostowania, usunięcia lub ograniczenia ich przetwarzania oraz wniesienia sprzeciwu.
public-privacy-complaint = Skargę można wnieść do tego organu:
public-status-available-count =
    { $count ->
        [one] Działa { $count } konto.
        [few] Działają { $count } konta.
       *[many] Działa { $count } kont.
    }
public-days =
    { $count ->
        [one] { $count } dzień
        [few] { $count } dni
       *[many] { $count } dni
    }
public-hours =
    { $count ->
        [one] { $count } godzina
        [few] { $count } godziny
       *[many] { $count } godzin
    }
public-minutes =
    { $count ->
        [one] { $count } minuta
        [few] { $count } minuty
       *[many] { $count } minut
    }
