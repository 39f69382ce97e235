/** Answers with the result of a call that ran as a task, or with how far it is. */
import { TollgateError } from '../../../engine/errors.ts'
import type { Exchange, Host, Stage } from '../../../engine/plugin.ts'
import { ownWorkValues } from '../../credentials/members.ts'
import { ACCOUNT } from '../../slots.ts'
import { FIND_CALL } from '../statements.ts'
import { isFinal, type State, type Task, taskOf } from '../task.ts'
import { fault } from './faults.ts'
import { storedReplyOf } from './stored-reply.ts'

/** Seconds after which a client should ask again. */
const RETRY_AFTER = '1'

export class ReplyStage implements Stage {
  readonly answers = true
  readonly #host: Host
  constructor(host: Host) {
    this.#host = host
  }
  async handle(exchange: Exchange): Promise<void> {
    const { params, request, slots } = exchange
    const { id = '' } = params
    // The route that created it has the same path without the id.
    const path = request.path.slice(0, request.path.lastIndexOf('/'))
    const account = slots.need(ACCOUNT)
    const values = [id, account.id, path, ...ownWorkValues(account)]
    const [row] = await this.#host.database.read(FIND_CALL, values)
    if (!row) throw fault('TASK_OF_CALL_UNKNOWN', [id])
    answerWithTask(exchange, taskOf(row), request.path)
  }
  explain() {
    return { task: 'reply' }
  }
}

/** 202 while the call runs; then its answer, or the error it failed with. `address`: of the
 *  result. */
export const answerWithTask = (exchange: Exchange, task: Task, address: string): void => {
  if (!isFinal(task.state)) {
    const { status, body, headers } = progressOf(task, address)
    exchange.answer(status, body, headers)
    return
  }
  const storedReply = storedReplyOf(task)
  if (!storedReply) throw errorOf(task)
  const { status, type, headers, body, encoding } = storedReply
  exchange.answer(status, Buffer.from(body, encoding), {
    ...headers,
    'content-type': type,
  })
}

/** The answer while the call runs. */
export const progressOf = (task: Task, address: string) => ({
  status: 202,
  body: statusOf(task),
  headers: {
    location: address,
    'preference-applied': 'respond-async',
    'retry-after': RETRY_AFTER,
  },
})

const STATUSES: Readonly<Partial<Record<State, string>>> = {
  accepted: 'queued',
  submitting: 'in_progress',
}
const statusOf = ({ id, state, model, created }: Task) => ({
  id,
  object: 'task',
  status: STATUSES[state] ?? 'in_progress',
  model,
  created_at: Math.floor(created / 1_000),
})
const errorOf = ({ error }: Task): Error => {
  const { code = 'INTERNAL', message = 'The call failed.', status = 500 } = error ?? {}
  return new TollgateError(code, status, message, { expose: true })
}
