/** `${NAME}`, `${NAME:-default}` and `${file:path}` inside one text; `$${` stands for a plain `${`. Pure. */
import { nearest } from './nearest.ts'

/** What a text may draw on. `file` is relative to the folder of routes.yaml; `undefined`: not readable. */
export interface Supply {
  readonly env: Readonly<Record<string, string | undefined>>
  file(path: string): string | undefined
}
type VariableFault = 'VARIABLE_UNSET' | 'VARIABLE_SYNTAX' | 'FILE_MISSING'
export interface Expanded {
  readonly text: string
  /** What came from outside, for redaction. */
  readonly drawn: readonly string[]
  readonly faults: readonly {
    readonly code: VariableFault
    readonly name: string
    readonly placeholder: string
    readonly suggestion?: string
  }[]
}

const PLACEHOLDER = /\$\$\{|\$\{([^{}]*)\}|\$\{[^}]*/g
const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s

/** Whether a value is (partly) decided outside of the file, so that it may become a number or a boolean. */
export const hasVariable = (text: string): boolean => /(^|[^$])\$\{/.test(text)

export const expand = (text: string, supply: Supply): Expanded => {
  if (!text.includes('${')) return { text, drawn: [], faults: [] }
  const drawn: string[] = []
  const faults: Expanded['faults'][number][] = []
  const draw = (value: string) => {
    drawn.push(value)
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
      // Editors and `kubectl create secret` end a file with a line break that is no part of the value.
      return content === undefined
        ? fail('FILE_MISSING', path)
        : draw(content.replace(/\r?\n$/, ''))
    }
    const [, name, otherwise] = VARIABLE.exec(inside ?? '') ?? []
    if (name === undefined) return fail('VARIABLE_SYNTAX', placeholder)
    const value = supply.env[name]
    if (value !== undefined && (value !== '' || otherwise === undefined)) return draw(value)
    return otherwise ?? fail('VARIABLE_UNSET', name, nearest(name, Object.keys(supply.env)))
  })
  return { text: expanded, drawn, faults }
}

/** A secret, and the password in it should it be an address: neither may be shown. */
export const withPassword = (value: string): readonly string[] => {
  const written = URL.parse(value)?.password
  if (!written) return [value]
  try {
    return [value, written, decodeURIComponent(written)]
  } catch {
    return [value, written]
  }
}

/** Whether a drawn value must never be shown. Short words and plain addresses are no secrets and stand everywhere. */
export const isSecret = (value: string): boolean =>
  value.length >= 8 && !/^([a-z]+:(\/\/[^@?]*)?|[\w.-]*:\d+|[\d.]+|[./~][^@]*)$/i.test(value)
