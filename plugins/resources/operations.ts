/** The operations on objects that a provider keeps: where each request goes, and what the row of
 *  the object becomes after the response. */
import type { Attempt, Exchange, Headers, Slot, Statement } from '../../engine/plugin.ts'
import { writeAtEnd } from '../conversion/write-at-end.ts'
import { type Fields, isFields, lenientObject, lenientText, parseJson } from '../formats/fields.ts'
import { NULLS } from '../formats/google-gemini/settings.ts'
import { withoutNulls } from '../formats/json/null-members.ts'
import { CACHE_STORAGE, MODEL, USAGE } from '../slots.ts'
import { Undo } from '../undo/undo.ts'
import { fault } from './faults.ts'
import {
  createdLifetime,
  expiryOf,
  FILE_LIFETIME,
  hoursOf,
  requestedLifetime,
  tokenHours,
  tokensOf,
} from './lifetime.ts'
import { keepTogether, namedResources } from './named-resources.ts'
import { findNamed, findOwn, keepsObjects, type Operation, placeOf, rowOf } from './places.ts'
import {
  type Kind,
  putResource,
  type Resource,
  removeResource,
  targetOf,
  updateResource,
} from './rows.ts'
import { resumedUpload, uploadHeaders, withUploadUrl } from './upload-protocol.ts'

/** Bytes of the description of an object. */
const MOST_BYTES = 4 * 1024 * 1024

// ---------------------------------------------------------------- responses

const bodyOf = async ({ reply }: Attempt, what: string): Promise<Fields> => {
  const body = parseJson(Buffer.from(await reply.bytes(MOST_BYTES)).toString())
  if (!isFields(body)) throw fault('RESOURCE_UNREADABLE', [what])
  return body
}
const BODY_HEADERS = ['content-type', 'content-length', 'content-encoding', 'etag']
const answerWith = (attempt: Attempt, body: Fields): void => {
  const headers: Headers = { ...attempt.reply.headers }
  for (const name of BODY_HEADERS) delete headers[name]
  attempt.answer(attempt.reply.status, body, headers)
}
/** Statements that are written with the charge: a repetition after a crash makes one row. */
const WITH_CHARGE: Slot<readonly Statement[]> = { name: 'rows of provider resources' }
/** Call it after `next()`. */
export const writeRows = (exchange: Exchange): void => {
  const rows = exchange.slots.get(WITH_CHARGE)
  if (rows) writeAtEnd(exchange, () => rows)
}
const writeWithCharge = ({ exchange: { slots } }: Attempt, statement: Statement): void =>
  slots.set(WITH_CHARGE, [...(slots.get(WITH_CHARGE) ?? []), statement])
/** Adds the row of a new object, which a client that is refused does not find. */
const addRow = (attempt: Attempt, resource: Resource): void => {
  writeWithCharge(attempt, putResource(resource))
  Undo.of(attempt.exchange).add({ undo: [removeResource(resource)] })
}
/** The provider's answer says what became of the object. */
const remember = async (attempt: Attempt, resource: Resource | undefined) => {
  if (!resource) return undefined
  const details = clientView(await bodyOf(attempt, resource.name), resource)
  const expires = expiryOf(details) ?? resource.expires
  writeWithCharge(attempt, updateResource({ ...resource, details, expires }))
  answerWith(attempt, details)
  return details
}
/** A cache has the name of the model that its client asked for. */
const clientView = (details: Fields, { model }: Pick<Resource, 'model'>): Fields =>
  model ? { ...details, model: `models/${model.asked}` } : details
const forget = async ({ exchange }: Attempt, resource: Resource | undefined): Promise<void> => {
  if (resource) exchange.writes.add(removeResource(resource))
}

// ---------------------------------------------------------------- files

const upload: Operation = {
  async start(exchange, host) {
    const id = exchange.request.query.get('upload_id')
    if (id !== null) {
      const session = await findOwn(`uploads/${id}`, exchange, host)
      exchange.targets = [targetOf(session)]
      return session
    }
    exchange.targets = placeOf(exchange, host)
    return undefined
  },
  send(attempt, session) {
    Object.assign(attempt.request.headers, uploadHeaders(attempt.exchange.request.headers))
    if (session) attempt.request.path = resumedUpload(session)
  },
  async finish(attempt, session, host) {
    const { exchange, reply } = attempt
    const started = withUploadUrl(reply, host)
    if (started) {
      const { id, details } = started
      exchange.writes.add(
        putResource(
          rowOf(attempt, {
            kind: 'uploads',
            name: `uploads/${id}`,
            details,
            lifetime: FILE_LIFETIME,
          }),
        ),
      )
      return
    }
    const bytes = await reply.bytes(MOST_BYTES)
    const body = parseJson(Buffer.from(bytes).toString())
    const details = isFields(body) ? lenientObject(body, 'file') : {}
    const name = lenientText(details, 'name')
    if (name === undefined) return // a part of a file
    if (session) writeWithCharge(attempt, removeResource(session))
    addRow(attempt, rowOf(attempt, { kind: 'files', name, details, lifetime: FILE_LIFETIME }))
  },
}

// ---------------------------------------------------------------- caches

const createCache: Operation = {
  async start(exchange, host) {
    const { slots, request } = exchange
    const { upstreams } = host
    exchange.targets = exchange.targets.filter(each => keepsObjects(upstreams[each.upstream]))
    if (exchange.targets.length === 0)
      throw fault('RESOURCE_ELSEWHERE', [slots.get(MODEL)?.asked ?? '', 'cached contents'])
    const body = await request.json()
    const lifetime = createdLifetime(isFields(body) ? body : {}, Date.now())
    const resources = await namedResources(exchange, host)
    keepTogether(exchange, resources)
    exchange.targets = resources.length > 0 ? exchange.targets.slice(0, 1) : placeOf(exchange, host)
    slots.set(CACHE_STORAGE, { hours: hoursOf(lifetime) })
    return undefined
  },
  send({ exchange, request, target }) {
    const body = exchange.request.parsed
    if (!isFields(body)) return
    const name = target.name ?? exchange.slots.get(MODEL)?.asked ?? ''
    const bytes = Buffer.from(JSON.stringify({ ...body, model: `models/${name}` }))
    request.body = withoutNulls(bytes, NULLS)
    delete request.headers['content-length']
  },
  async finish(attempt) {
    const { exchange } = attempt
    const body = await bodyOf(attempt, 'cached content')
    const name = lenientText(body, 'name')
    if (name === undefined) throw fault('RESOURCE_UNREADABLE', ['cached content'])
    const requested = exchange.request.parsed
    const now = Date.now()
    const lifetime = createdLifetime(isFields(requested) ? requested : {}, now)
    const resource = rowOf(attempt, { kind: 'cachedContents', name, details: body, lifetime })
    const details = clientView(body, resource)
    setStorage(attempt, tokensOf(details), lifetime)
    addRow(attempt, { ...resource, details })
    answerWith(attempt, details)
  },
}
/** The storage is charged for the whole lifetime, as the provider bills it. */
const setStorage = ({ exchange }: Attempt, tokens: number, ms: number): void => {
  const meters = { cache_storage: tokenHours(tokens, ms) }
  exchange.slots.set(USAGE, { meters, estimated: false })
}
/** Charged for the time by which the lifetime grows. */
const updateCache: Operation = {
  async start(exchange, host) {
    const resource = await findNamed('cachedContents', 'cache')(exchange, host)
    const body = await exchange.request.json()
    const now = Date.now()
    const lifetime = requestedLifetime(isFields(body) ? body : {}, now) ?? 0
    const hours = hoursOf(now + lifetime - Math.max(now, resource.expires))
    exchange.slots.set(CACHE_STORAGE, { hours, tokens: tokensOf(resource.details) })
    if (resource.model) exchange.slots.set(MODEL, resource.model)
    return resource
  },
  async finish(attempt, resource) {
    if (!resource) return
    const details = await remember(attempt, resource)
    const expires = details && expiryOf(details)
    setStorage(attempt, tokensOf(resource.details), (expires ?? 0) - resource.expires)
  },
}

const operationsOn = (kind: Kind, parameter: string) => ({
  show: { start: findNamed(kind, parameter), finish: remember } satisfies Operation,
  delete: { start: findNamed(kind, parameter), finish: forget } satisfies Operation,
  /** The key that keeps it answers, and the row stays. */
  pass: { start: findNamed(kind, parameter) } satisfies Operation,
})
const file = operationsOn('files', 'file_id')
const cache = operationsOn('cachedContents', 'cache')

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'upload-file': upload,
  'show-file': file.show,
  'download-file': file.pass,
  'delete-file': file.delete,
  'create-cache': createCache,
  'show-cache': cache.show,
  'update-cache': updateCache,
  'delete-cache': cache.delete,
}
