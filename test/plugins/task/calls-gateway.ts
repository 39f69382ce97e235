/** A gateway that runs chat calls as tasks. */
import type { Test } from 'tap'
import type { Plugin } from '../../../engine/plugin.ts'
import files from '../../../plugins/files/index.ts'
import meter from '../../../plugins/meter.ts'
import task from '../../../plugins/task/index.ts'
import { startMetered } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import type { Engine } from '../../helpers/store/store.ts'

export const CHAT = '/v1/chat/completions'

/** `options`: of `task:` on the chat route. */
export const startCalls = async (t: Test, engine: Engine = 'sqlite', options: object = {}) => {
  const gateway = await startMetered(t, engine, {
    more: { files: files as Plugin, meter: meter as Plugin, task: task as Plugin },
    routes: [
      {
        path: `POST ${CHAT}`,
        model: 'body',
        idempotency: true,
        task: { call: {}, ...options },
        translate: 'openai-chat',
        errors: 'openai',
      },
      { path: `GET ${CHAT}/{id}`, task: { view: 'reply' }, errors: 'openai' },
      { path: 'GET /usage/{id}', account: 'receipt' },
      { path: 'POST /v1/files', files: 'upload', body: { limit: '2GiB' } },
    ],
  })
  const { send } = gateway
  return {
    ...gateway,
    /** Sends a chat that prefers to be a task. */
    ask: (headers: Readonly<Record<string, string>> = {}, body: object = {}) =>
      send(
        'POST',
        CHAT,
        { prefer: 'respond-async', ...headers },
        {
          model: 'talk',
          messages: [{ role: 'user', content: 'Hello' }],
          max_tokens: 100,
          ...body,
        },
      ),
    /** Asks for the result until it is there. */
    result: (location: string | null) =>
      eventually(async () => {
        const answer = await send('GET', String(location))
        return answer.status === 202 ? undefined : answer
      }),
  }
}
