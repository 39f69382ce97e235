/** Lists the objects that an account has at a provider. The provider's own lists have those of all
 *  accounts. */
import type { Exchange, Host } from '../../engine/plugin.ts'
import { readAs } from '../credentials/members.ts'
import { type Fields, isFields, lenientText, parseJson } from '../formats/fields.ts'
import { ACCOUNT } from '../slots.ts'
import { fault } from './faults.ts'
import { PAGE, type Resource, resourceOf, updateResource } from './rows.ts'

const PAGE_SIZE = { usual: 10, most: 100 }
const MOST_BYTES = 1024 * 1024
/** ms until the provider must have told the state of a file. */
const STATE_TIMEOUT = 10_000
const WHOLE = /^\d{1,9}$/
const TOKEN = /^(\d{1,16}) (.{1,100})$/

export const list =
  (kind: 'files' | 'cachedContents') => async (exchange: Exchange, host: Host) => {
    const { query } = exchange.request
    const caller = exchange.slots.need(ACCOUNT)
    const size = sizeIn(query.get('pageSize') ?? query.get('page_size'))
    const position = positionIn(query.get('pageToken') ?? query.get('page_token'))
    const values = [kind, Date.now(), ...position, size + 1]
    const resources = (await readAs(host.database, caller, PAGE, values)).map(resourceOf)
    const page = resources.slice(0, size)
    const last = resources.length > size ? page.at(-1) : undefined
    const items = await Promise.all(page.map(each => currentDetails(each, host)))
    exchange.answer(200, {
      ...(items.length > 0 && { [kind]: items }),
      ...(last && { nextPageToken: tokenOf(last) }),
    })
  }
/** 0 and absent: the usual size; the provider caps larger ones as well. */
const sizeIn = (text: string | null): number => {
  if (text !== null && !WHOLE.test(text)) throw fault('RESOURCE_PAGE', ['pageSize', 'a number'])
  return Math.min(Number(text ?? 0) || PAGE_SIZE.usual, PAGE_SIZE.most)
}
const tokenOf = ({ created, name }: Resource): string =>
  Buffer.from(`${created} ${name}`).toString('base64url')
const positionIn = (token: string | null): readonly [number, string] => {
  if (token === null || token === '') return [Number.MAX_SAFE_INTEGER, '']
  const match = TOKEN.exec(Buffer.from(token, 'base64url').toString())
  if (!match) throw fault('RESOURCE_PAGE', ['pageToken', 'the nextPageToken of a page'])
  return [Number(match[1]), match[2] ?? '']
}

/** A file that the provider was still processing is asked for again. */
const currentDetails = async (resource: Resource, host: Host): Promise<Fields> => {
  const { details, name, upstream, pin } = resource
  if (lenientText(details, 'state') !== 'PROCESSING') return details
  const path = `/v1beta/${name}`
  const request = { method: 'GET', path, timeout: STATE_TIMEOUT, ...(pin && { pin }) }
  const reply = await host.send(upstream, request).catch(() => undefined)
  if (!reply) return details
  const body = parseJson(Buffer.from(await reply.bytes(MOST_BYTES)).toString())
  if (reply.status >= 300 || !isFields(body)) return details
  await host.database.write([updateResource({ ...resource, details: body })])
  return body
}
