import type { Environment } from './settings.ts'
import type { Substitute } from './yaml.ts'

/** `$${` is a plain `${`; everything else that begins with `${` must be the name of a variable in braces. */
const REFERENCE = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\})?/g

/** Puts environment variables in the place of `${NAME}`. What is wrong names variables and never shows a value. */
export function substituteFrom(env: Environment): Substitute {
  return text => {
    let wrong: string | undefined
    const result = text.replace(REFERENCE, (match: string, name: string | undefined) => {
      if (match === '$${') return '${'
      if (name === undefined) {
        // biome-ignore lint/suspicious/noTemplateCurlyInString: shows the syntax of the file
        wrong ??= 'holds "${" without a variable: write ${NAME}, or $${ for the plain characters'
        return ''
      }
      const value = env[name]
      if (value === undefined || value === '') {
        wrong ??= `reads the environment variable ${name}, which is not set`
      }
      return value ?? ''
    })
    return wrong === undefined ? { text: result } : { wrong }
  }
}
