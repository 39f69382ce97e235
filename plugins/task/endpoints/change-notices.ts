/** Change notices: an upstream calls a signed address when a task has changed, and the task is
 *  polled at once. The body of the call is not read, so that a forged one is harmless. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { constant, object, required } from '../../../engine/config/shape.ts'
import { errors } from '../../../engine/errors.ts'
import type { Bytes, Exchange, Host, Job, Stage } from '../../../engine/plugin.ts'
import { writeWithRetry } from '../../ledger/write-with-retry.ts'
import { makeDue } from '../statements.ts'

const fault = errors({
  NOTICE_UNKNOWN: [404, 'This address announces no task.'],
})
const SECRET = 'task change notices'
/** The path of the route with `view: changed`, without the name. */
const PATH = '/task-changes/'

export const CHANGE = object(
  'The route takes notices of upstreams: the task is polled at once.',
  { view: required(constant('What the route does.', 'changed', { examples: ['changed'] })) },
  { examples: [{ view: 'changed' }] },
)

/** Whether a route takes notices. */
export const takesNotices = (routes: unknown): boolean =>
  Array.isArray(routes) &&
  routes.some(route => /\/task-changes\/\{name\}$/.test(String(route?.path)) && route.task)

const signatureOf = (secret: Bytes, task: string): string =>
  createHmac('sha256', secret).update(task).digest('base64url')
/** The address that announces changes of a task. */
export const noticeAddress = async (
  { secret, url }: Pick<Host, 'secret' | 'url'>,
  task: string,
): Promise<string> => `${url(PATH)}${task}.${signatureOf(await secret(SECRET), task)}`

export class ChangeStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #job: Job
  constructor(host: Host, job: Job) {
    this.#host = host
    this.#job = job
  }
  async handle(exchange: Exchange): Promise<void> {
    const [task = '', signature = ''] = (exchange.params.name ?? '').split('.')
    const expected = Buffer.from(signatureOf(await this.#host.secret(SECRET), task))
    const received = Buffer.from(signature)
    if (expected.length !== received.length || !timingSafeEqual(expected, received))
      throw fault('NOTICE_UNKNOWN')
    exchange.request.stop()
    await writeWithRetry(this.#host.database, [makeDue(task, Date.now())])
    this.#job.wake()
    exchange.answer(200, { ok: true })
  }
  explain() {
    return { task: 'changed' }
  }
}
