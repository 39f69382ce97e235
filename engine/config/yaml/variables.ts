/** Expands `${NAME}`, `${NAME:-default}` and `${file:path}` in a text; `$${` is an escaped `${`. */
import { nearest } from '../nearest.ts'

/** Sources of variables. `file`: path relative to the folder of routes.yaml; undefined if it is not
 *  readable. */
export interface VariableSource {
  readonly env: Readonly<Record<string, string | undefined>>
  file(path: string): string | undefined
}
type VariableFault = 'VARIABLE_UNSET' | 'VARIABLE_SYNTAX' | 'FILE_MISSING'
export interface Expansion {
  readonly text: string
  /** Inserted values, for redaction. */
  readonly values: readonly string[]
  readonly faults: readonly {
    readonly code: VariableFault
    readonly name: string
    readonly placeholder: string
    readonly suggestion?: string
  }[]
}

const PLACEHOLDER = /\$\$\{|\$\{([^{}]*)\}|\$\{[^}]*/g
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

/** Whether a text contains a variable, so that it may be converted to a number or a boolean. */
export const hasVariable = (text: string): boolean => /(^|[^$])\$\{/.test(text)

export const expand = (text: string, source: VariableSource): Expansion => {
  if (!text.includes('${')) return { text, values: [], faults: [] }
  const values: string[] = []
  const faults: Expansion['faults'][number][] = []
  const insert = (value: string) => {
    values.push(value)
    return value
  }
  const expandedText = text.replace(PLACEHOLDER, (placeholder, content: string | undefined) => {
    if (placeholder === '$${') return '${'
    const fail = (code: VariableFault, name: string, suggestion?: string) => {
      faults.push({ code, name, placeholder, ...(suggestion !== undefined && { suggestion }) })
      return ''
    }
    if (content?.startsWith('file:')) {
      const path = content.slice('file:'.length)
      const fileText = path === '' ? undefined : source.file(path)
      // Editors and `kubectl create secret` add a final line break that is not part of the value.
      return fileText === undefined
        ? fail('FILE_MISSING', path)
        : insert(fileText.replace(/\r?\n$/, ''))
    }
    const [, name, fallback] = VARIABLE.exec(content ?? '') ?? []
    if (name === undefined) return fail('VARIABLE_SYNTAX', placeholder)
    const value = source.env[name]
    if (value !== undefined && (value !== '' || fallback === undefined)) return insert(value)
    return fallback ?? fail('VARIABLE_UNSET', name, nearest(name, Object.keys(source.env)))
  })
  return { text: expandedText, values, faults }
}

/** A secret and, if it is a URL, its password: the texts that must be masked. */
export const withPassword = (value: string): readonly string[] => {
  const password = URL.parse(value)?.password
  if (!password) return [value]
  try {
    return [value, password, decodeURIComponent(password)]
  } catch {
    return [value, password]
  }
}

/** Whether a variable's value must be masked. Short words and plain addresses are not secrets. */
export const isSecret = (value: string): boolean =>
  value.length >= 8 && !/^([a-z]+:(\/\/[^@?]*)?|[\w.-]*:\d+|[\d.]+|[./~][^@]*)$/i.test(value)
