// Cerberus for opencode: tells `cerberus hook opencode` what happens, and the model what it answers.
export const CerberusPlugin = async () => {
  const program = "cerberus"
  return {}
}
