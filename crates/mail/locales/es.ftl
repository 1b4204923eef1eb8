mail-code-subject = Su código de acceso
mail-code-lead = Está iniciando sesión en { $service }. Escriba este código en la página que lo pide:
mail-code-valid = El código es válido durante { $minutes } minutos, solo en esa página.
mail-code-warning = No dé este código a nadie. Si no está iniciando sesión, ignore este correo y cambie su contraseña en su proveedor de identidad: otra persona la conoce.
mail-test-subject = Correo de prueba
mail-test = Este es un correo de prueba de { $hub }. No hay que hacer nada.
mail-address-kept = Su dirección de correo confirmada, cifrada: { $period } después de su último uso.
