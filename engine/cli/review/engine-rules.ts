/** The rules of `tollgate lint` that need no plugin: addresses, secrets and egress. Pure. */
import type { Reading } from '../../config/read.ts'
import type { Path } from '../../config/yaml/source-positions.ts'
import { isFields } from '../../kit.ts'
import type { Advise, Document, Json } from '../../plugin.ts'
import { isLoopback, parseListenAddress } from '../../processes/listen-address.ts'

interface RuleContext {
  readonly document: Document
  readonly reading: Pick<Reading, 'find'>
  /** Values that the schema marks as passwords. */
  readonly secrets: ReadonlySet<string>
  readonly advise: Advise
}
type Rule = (context: RuleContext) => void
type Fields = { readonly [key: string]: Json }
const fieldsOf = (value: Json | undefined): Fields => (isFields(value) ? value : {})
const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

const publicAdmin: Rule = ({ document, advise }) => {
  const { admin } = fieldsOf(document.settings)
  if (textOf(admin) === '' || isLoopback(parseListenAddress(textOf(admin)).host)) return
  advise(
    ['settings', 'admin'],
    'warning',
    'PUBLIC_ADMIN',
    'the admin listener can be reached from other machines, and has no TLS: credentials cross the network unencrypted; use 127.0.0.1, or let a firewall admit only yours',
  )
}

const plainListener: Rule = ({ document, advise }) => {
  const { listen, public_url: url, tls } = fieldsOf(document.settings)
  if (textOf(listen) === '' || tls !== undefined || /^https:/.test(textOf(url))) return
  if (isLoopback(parseListenAddress(textOf(listen)).host)) return
  advise(
    ['settings', 'listen'],
    'warning',
    'PLAIN_LISTENER',
    'clients on other machines send their keys unencrypted; put a TLS proxy in front and set `public_url: https://…`',
  )
}

const plainUpstreams: Rule = ({ document, advise }) => {
  for (const [name, options] of Object.entries(fieldsOf(document.upstreams))) {
    const { url } = fieldsOf(options)
    for (const address of [url].flat()) {
      const text = isFields(address) ? address.url : address
      const parsed = typeof text === 'string' ? URL.parse(text) : null
      if (parsed?.protocol !== 'http:') continue
      const host = parsed.hostname.replace(/^\[|\]$/g, '')
      if (isLoopback(host) || host.endsWith('.localhost')) continue
      advise(
        ['upstreams', name, 'url'],
        'warning',
        'PLAIN_UPSTREAM',
        `requests and the key of upstream "${name}" leave this machine unencrypted; use https://`,
      )
    }
  }
}

const openEgress: Rule = ({ document, advise }) => {
  const { egress_allow: list } = fieldsOf(document.settings)
  const isOpen = textOf(list)
    .split(/[\s,]+/)
    .some(each => /\/0(:|$)/.test(each))
  if (!isOpen) return
  advise(
    ['settings', 'egress_allow'],
    'error',
    'OPEN_EGRESS',
    'URLs that customers name may reach every address, also of your own network; list single addresses',
  )
}

/** Headers that carry credentials. */
const CREDENTIAL = /^(authorization|cookie|.*(api-?key|tok(?:en)|secret|password).*)$/i

const plainSecrets: Rule = ({ document, reading, secrets, advise }) => {
  const visit = (value: Json | undefined, path: Path): void => {
    if (isFields(value) || Array.isArray(value)) {
      for (const [key, inner] of Object.entries(value))
        visit(inner as Json, [...path, Array.isArray(value) ? Number(key) : key])
      return
    }
    if (typeof value !== 'string' || !isSecretAt(value, path, secrets)) return
    const node = reading.find(path)
    // A preset's value is elsewhere; a variable is how it should be.
    if (node.hasVariable || !node.source.includes(value.slice(0, MINIMUM))) return
    const key = path.filter(each => typeof each === 'string').at(-1)
    const message = `"${key}" has a secret in the file, which copies and histories keep; use a variable, such as \${NAME}, or \${file:path}`
    advise(path, 'error', 'SECRET_IN_FILE', message)
  }
  visit(document as Json, [])
}
/** Shorter values are placeholders. */
const MINIMUM = 8
const isSecretAt = (value: string, path: Path, secrets: ReadonlySet<string>): boolean => {
  const isHeader = path.at(-2) === 'set' && CREDENTIAL.test(String(path.at(-1)))
  if (!secrets.has(value) && !isHeader) return false
  // Of a URL only the password is a secret.
  const url = /^[a-z][a-z0-9+]*:(\/\/|$)/i.test(value)
  return value.length >= MINIMUM && (!url || !!URL.parse(value)?.password)
}

export const ENGINE_RULES: readonly Rule[] = [
  publicAdmin,
  plainListener,
  plainUpstreams,
  openEgress,
  plainSecrets,
]
