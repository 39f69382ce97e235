/** Puts variables in the place of keys: those that the source names, and new ones for plain
 *  keys. */
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import { variableName } from '../starter/texts.ts'
import { isVariable, variable } from './source.ts'

type Fields = { readonly [key: string]: Json }
/** Places of keys in an upstream, and the text without their variable: a check refuses empty
 *  ones. */
const PLACES: readonly (readonly [path: readonly string[], fallback: string])[] = [
  [['key'], ''],
  [['auth', 'aws', 'id'], 'unset'],
  [['auth', 'aws', 'secret'], 'unset'],
  [['auth', 'aws', 'session'], 'unset'],
  [['auth', 'azure', 'secret'], 'unset'],
  [['auth', 'google'], 'metadata'],
]
const SECRET_HEADER = /auth|key|token|secret|cookie/

export class Variables {
  readonly values = new Map<string, string>()
  readonly #used: Set<string>

  /** `used`: names that the source uses. */
  constructor(used: Iterable<string>) {
    this.#used = new Set(used)
  }
  /** The upstream of this name without plain keys. */
  hideSecrets(name: string, upstream: Fields): Fields {
    const headers =
      isFields(upstream.headers) && isFields(upstream.headers.set) ? upstream.headers.set : {}
    const places = Object.keys(headers).map(
      header =>
        [['headers', 'set', header], SECRET_HEADER.test(header) ? 'unset' : undefined] as const,
    )
    return [...PLACES, ...places].reduce<Fields>(
      (changed, [path, fallback]) =>
        change(changed, path, text => this.#replace(text, name, fallback)),
      upstream,
    )
  }
  /** `fallback`: undefined for a text that is not a key. */
  #replace(text: string, upstream: string, fallback: string | undefined): string {
    if (isVariable(text)) return variable(text, fallback ?? 'unset')
    if (text.startsWith('${file:')) return text
    if (fallback === undefined) return variable(text)
    const name = variableName(upstream, this.#firstFree(upstream))
    this.#used.add(name)
    this.values.set(name, text)
    return `\${${name}:-${fallback}}`
  }
  #firstFree(upstream: string): number {
    let number = 0
    while (this.#used.has(variableName(upstream, number))) number++
    return number
  }
}

/** Replaces a text deep inside, where it is. */
const change = (fields: Fields, path: readonly string[], to: (text: string) => string): Fields => {
  const [step = '', ...rest] = path
  const value = fields[step]
  if (rest.length === 0)
    return typeof value === 'string' ? { ...fields, [step]: to(value) } : fields
  return isFields(value) ? { ...fields, [step]: change(value, rest, to) } : fields
}
