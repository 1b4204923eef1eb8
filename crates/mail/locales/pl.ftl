mail-code-subject = Kod logowania
mail-code-lead = Trwa logowanie do usługi { $service }. Proszę wpisać ten kod na stronie, która o niego prosi:
mail-code-valid = { $minutes ->
    [one] Kod jest ważny przez jedną minutę i tylko na tej stronie.
    [few] Kod jest ważny przez { $minutes } minuty i tylko na tej stronie.
   *[many] Kod jest ważny przez { $minutes } minut i tylko na tej stronie.
}
mail-code-warning = Proszę nikomu nie podawać tego kodu. Jeśli to nie Państwo się teraz logują, proszę zignorować tę wiadomość i zmienić hasło w instytucji prowadzącej konto: zna je ktoś inny.
mail-test-subject = Wiadomość testowa
mail-test = To jest wiadomość testowa serwisu { $hub }. Nie trzeba nic robić.
mail-address-kept = Potwierdzony adres e-mail, zaszyfrowany: { $period } od ostatniego użycia.
