/** llms.txt: what a language model or its author should know to use this gateway. */
import { isFields } from '../../engine/kit.ts'
import type { HostBase, Json } from '../../engine/plugin.ts'
import { configuredCurrency } from '../billing/currency.ts'
import { catalogueOf } from '../catalogue/configured.ts'
import { Endpoints } from '../catalogue/endpoints.ts'
import { readablePattern } from '../catalogue/pattern.ts'
import { type Operation, securityOf } from './operations.ts'

export const llmsText = (host: HostBase, operations: readonly Operation[]): string => {
  return [
    '# Tollgate',
    '',
    `> An AI gateway at ${host.url('')}: one API key for all models below, in the formats of OpenAI, Anthropic and Google.`,
    '',
    ...linksOf(operations, host),
    ...keysOf(operations, host),
    ...endpointLines(operations),
    ...modelLines(host),
  ].join('\n')
}

/** The routes that answer with a document, by its media type. */
const LINKS: Readonly<Record<string, string>> = {
  'application/vnd.oai.openapi+json':
    'OpenAPI 3.1: every endpoint with its schemas, errors and prices',
  'text/csv': 'Prices of all models as CSV',
  'text/html': 'The console: keys, usage, prices',
}
const linksOf = (operations: readonly Operation[], host: HostBase): readonly string[] => {
  const lines = operations.flatMap(({ method, path, about }) => {
    const [type = ''] = Object.keys(about.responses ?? {})
    const text = method === 'GET' ? LINKS[type] : undefined
    return text === undefined ? [] : `- [${text}](${host.url(path)})`
  })
  return section('Documents', lines)
}

/** How a client authenticates, from the credentials that the routes take. */
const keysOf = (operations: readonly Operation[], host: HostBase): readonly string[] => {
  const kinds = new Set(
    operations.flatMap(({ about }) => (about.credentials ?? []).map(({ kind }) => kind)),
  )
  const create = operations.find(({ method, about }) => method === 'POST' && about.status === 201)
  return section('API keys', [
    ...(kinds.has('API key')
      ? ['- Send an API key as `Authorization: Bearer sk-…`, `x-api-key` or `x-goog-api-key`.']
      : []),
    '- The operator of the gateway creates your account, and gives you a key or a sign-in link.',
    ...(create
      ? [`- With a system token (\`st-…\`), POST ${host.url(create.path)} creates further keys.`]
      : []),
  ])
}

const endpointLines = (operations: readonly Operation[]): readonly string[] =>
  section(
    'Endpoints',
    operations.map(({ method, path, about }) => {
      const isPublic =
        about.isOpen || (securityOf(about, new Map()) as readonly Json[]).length === 0
      return `- \`${method} ${path}\`: ${about.summary ?? ''}${isPublic ? ' (public)' : ''}`
    }),
  )

const modelLines = (host: HostBase): readonly string[] => {
  const endpoints = new Endpoints(host)
  const { name: currency } = configuredCurrency(host)
  const lines = catalogueOf(host).all.map(entry => {
    const { price, free } = entry.options
    const served = endpoints.of(entry).join(', ')
    const cost = free === true ? 'free' : printPrice(price)
    return `- \`${readablePattern(entry.name)}\` (${served}): ${cost}`
  })
  return section(`Models and prices (amounts without a currency: ${currency})`, lines)
}
const printPrice = (price: Json | undefined): string => {
  if (price === undefined) return 'no price'
  if (!isFields(price)) return JSON.stringify(price)
  return Object.entries(price)
    .map(([meter, rate]) => `${meter} ${printRate(rate)}`)
    .join(', ')
}

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`## ${title}`, '', ...lines, '']
/** Prints a rate; one that depends on a fact of the request with each of its choices. */
const printRate = (rate: Json): string => {
  if (!isFields(rate)) return typeof rate === 'string' ? rate : JSON.stringify(rate)
  const { by, price } = rate
  if (typeof by !== 'string' || !isFields(price)) return JSON.stringify(rate)
  const choices = Object.entries(price).map(([choice, each]) => `${choice} ${printRate(each)}`)
  return `by ${by} (${choices.join(', ')})`
}
