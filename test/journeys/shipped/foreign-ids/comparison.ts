/** Compares the answers about the object of another account and about an unknown one, and lists
 *  what an upstream was asked. */
import type { Test } from 'tap'
import { upstream } from '../shipped-gateway.ts'
import type { Response } from './accounts.ts'
import type { Parameters } from './objects.ts'

/** Headers that each response has of its own, and those that ids change or cannot. */
const OWN_HEADERS = ['date', 'x-request-id', 'request-id', 'content-length', 'x-tollgate-version']
/** Traces and times, which each response has of its own. */
const OWN_TEXTS = /(?<="trace_id": ?")[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+Z/g

/** The response without its ids, so that two of them compare. */
const withoutIds = ({ status, headers, text }: Response, ids: Parameters): Response => {
  const request = headers['x-request-id'] ?? ''
  const others = Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name))
  const words = [request, ...Object.values(ids)]
  const pattern = new RegExp(`(?<![A-Za-z0-9])(?:${words.join('|')})(?![A-Za-z0-9])`, 'g')
  const clean = (value: string): string =>
    value.replaceAll(pattern, 'ID').replaceAll(OWN_TEXTS, 'OWN')
  return {
    status,
    headers: Object.fromEntries(others.map(([name, value]) => [name, clean(value)])),
    text: clean(text),
  }
}

/** A response, and the ids that its request named. */
interface Outcome {
  readonly response: Response
  readonly ids: Parameters
}
export const checkAlike = (t: Test, name: string, foreign: Outcome, unknown: Outcome): void => {
  const [one, other] = [foreign, unknown].map(({ response, ids }) => withoutIds(response, ids))
  t.same(one, other, `${name}: another account's object and an unknown one are answered alike`)
}
/** The owner gets another answer: what the test names is there. */
export const checkOwn = (t: Test, name: string, own: Response, foreign: Response): void => {
  const isOther = own.status !== foreign.status || own.text.length !== foreign.text.length
  t.ok(isOther, `${name}: its owner is answered otherwise: ${own.status} ${own.text.slice(0, 200)}`)
}
/** The requests that upstreams got, without polls: tasks of earlier tests go on. */
export const askedUpstreams = async (): Promise<readonly string[]> =>
  (await upstream.events('request'))
    .filter(({ script, head }) => head.method !== 'GET' || script === 'gx' || script === 'clip')
    .map(({ head }) => `${head.method} ${head.target}`)
