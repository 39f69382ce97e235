/** A whole gateway with video tasks whose results are copied, and calls of its customer. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { eventually, type Primary, startPrimary } from '../../helpers/gateway/primary.ts'
import { creditAdmin } from '../../helpers/money/credit.ts'

const PLUGINS = fileURLToPath(new URL('../../../plugins', import.meta.url))
const routesTo = (upstream: string): string => `
settings:
  listen: 127.0.0.1:0
  admin: 127.0.0.1:0
  workers: 1
  data: data
  egress_allow: 127.0.0.0/8
  plugins: ['${PLUGINS}']
pipeline: [errors, auth, model, files, meter, task]
upstreams: { up: { url: '${upstream}', key: k } }
models: { clip: { to: up/clip, price: { seconds: 0.025 }, max_calls: { seconds: 16 } } }
routes:
  - path: POST /ent/v2/text2video
    model: body
    errors: vidu
    task:
      dialect: vidu
      submit: { id: /task_id }
      poll:
        path: GET /ent/v2/tasks/{id}/creations
        every: 50ms..100ms
        state: /state
        states: { processing: running, success: succeeded }
        results: /creations
      results: copy
  - { path: 'GET /ent/v2/tasks/{id}/creations', task: { dialect: vidu, view: query }, errors: vidu }
  - { path: 'GET /files/{name}', auth: none, files: signed }
`

export interface VideoGateway {
  readonly primary: Primary
  readonly dataFolder: string
  /** A call below /ent/v2 with the customer's key; POST with a body. */
  call(path: string, body?: object): Promise<{ [name: string]: string & { url: string }[] }>
  /** Another gateway in the same folder, once this one has ended. */
  startAgain(): Promise<VideoGateway>
}
export const startVideoGateway = async (t: Test, upstream: string): Promise<VideoGateway> => {
  const files = { 'routes.yaml': routesTo(upstream) }
  const first = await startPrimary(t, { files })
  const key = await eventually(() => /\b(sk-[A-Za-z0-9]{20,})/.exec(first.messages())?.[1])
  const dataFolder = join(first.folder, 'data')
  await creditAdmin(dataFolder)
  const gatewayOf = (primary: Primary): VideoGateway => ({
    primary,
    dataFolder,
    async call(path, body) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
      const response = await fetch(`${primary.url}/ent/v2${path}`, { headers, ...init })
      return (await response.json()) as Awaited<ReturnType<VideoGateway['call']>>
    },
    startAgain: async () => gatewayOf(await startPrimary(t, { files, folder: first.folder })),
  })
  return gatewayOf(first)
}
