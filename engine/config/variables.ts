/** Expands `${NAME}`, `${NAME:-default}` and `${file:path}` in a text; `$${` is an escaped `${`.
 *  Pure. */
import { nearest } from './nearest.ts'

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

export const expand = (text: string, supply: VariableSource): Expansion => {
  if (!text.includes('${')) return { text, values: [], faults: [] }
  const values: string[] = []
  const faults: Expansion['faults'][number][] = []
  const insert = (value: string) => {
    values.push(value)
    return value
  }
  const expanded = text.replace(PLACEHOLDER, (placeholder, inside: string | undefined) => {
    if (placeholder === '$${') return '${'
    const fail = (code: VariableFault, name: string, suggestion?: string) => {
      faults.push({ code, name, placeholder, ...(suggestion !== undefined && { suggestion }) })
      return ''
    }
    if (inside?.startsWith('file:')) {
      const path = inside.slice('file:'.length)
      const content = path === '' ? undefined : supply.file(path)
      // Editors and `kubectl create secret` add a final line break that is not part of the value.
      return content === undefined
        ? fail('FILE_MISSING', path)
        : insert(content.replace(/\r?\n$/, ''))
    }
    const [, name, otherwise] = VARIABLE.exec(inside ?? '') ?? []
    if (name === undefined) return fail('VARIABLE_SYNTAX', placeholder)
    const value = supply.env[name]
    if (value !== undefined && (value !== '' || otherwise === undefined)) return insert(value)
    return otherwise ?? fail('VARIABLE_UNSET', name, nearest(name, Object.keys(supply.env)))
  })
  return { text: expanded, values, faults }
}

/** A secret and, if it is a URL, its password; both must be masked. */
export const withPassword = (value: string): readonly string[] => {
  const written = URL.parse(value)?.password
  if (!written) return [value]
  try {
    return [value, written, decodeURIComponent(written)]
  } catch {
    return [value, written]
  }
}

/** Whether a value must be masked. Short words and plain addresses occur everywhere and are no
 *  secrets. */
export const isSecret = (value: string): boolean =>
  value.length >= 8 && !/^([a-z]+:(\/\/[^@?]*)?|[\w.-]*:\d+|[\d.]+|[./~][^@]*)$/i.test(value)
