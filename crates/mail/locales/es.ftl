mail-code-subject = Su código para iniciar sesión
mail-code-lead = Está iniciando sesión en { $service }. Escriba este código en la página que se lo pide:
mail-code-valid = { $minutes ->
    [one] El código es válido durante un minuto y solo en esa página.
   *[other] El código es válido durante { $minutes } minutos y solo en esa página.
}
mail-code-warning = No facilite este código a nadie. Si no está iniciando sesión, ignore este correo y cambie su contraseña en la entidad que gestiona su cuenta: otra persona la conoce.
mail-test-subject = Correo de prueba
mail-test = Este es un correo de prueba de { $hub }. No tiene que hacer nada.
mail-address-kept = Su dirección de correo electrónico confirmada, cifrada: { $period } desde su último uso.
