mail-code-subject = Kod logowania
mail-code-lead = Trwa logowanie do { $service }. Wpisz ten kod na stronie, która o niego prosi:
mail-code-valid = Kod jest ważny przez { $minutes } min, tylko na tej stronie.
mail-code-warning = Nie podawaj tego kodu nikomu. Jeśli nie logujesz się teraz, zignoruj tę wiadomość i zmień hasło u swojego dostawcy tożsamości: zna je ktoś inny.
mail-test-subject = Wiadomość testowa
mail-test = To jest wiadomość testowa z { $hub }. Nie trzeba nic robić.
mail-address-kept = Potwierdzony adres e-mail, zaszyfrowany: { $period } po ostatnim użyciu.
