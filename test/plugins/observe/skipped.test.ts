/** Log lines say why targets were not asked, and what the client of a 404 was told. */
import t, { type Test } from 'tap'
import type { Log, Plugin } from '../../../engine/plugin.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import model from '../../../plugins/model/index.ts'
import observe from '../../../plugins/observe/index.ts'
import translate from '../../../plugins/translate/index.ts'
import { chatAnswer } from '../../helpers/gateway/metered.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  SILENT_LOG,
  startHttpUpstream,
  startTestServer,
} from '../../helpers/gateway/test-server.ts'

interface Line {
  readonly status: number
  readonly fields?: Readonly<Record<string, unknown>>
}
/** `first` answers with these statuses in turn, `second` with 200; `speech` has no chat format. */
const start = async (t: Test, upstream: object, statuses: readonly number[]) => {
  const rest = [...statuses]
  const answer = (status: () => number) =>
    startHttpUpstream(t, (_, response) =>
      response
        .writeHead(status(), { 'content-type': 'application/json' })
        .end(JSON.stringify(chatAnswer())),
    )
  const [first, second] = [await answer(() => rest.shift() ?? 200), await answer(() => 200)]
  const lines: Line[] = []
  const log: Log = {
    ...SILENT_LOG,
    info: (line, text) => void (text === 'request' && lines.push(line as unknown as Line)),
  }
  const formats = ['openai-chat']
  const { url } = await startTestServer(
    t,
    {
      errors: errorsPlugin as Plugin,
      observe: observe as Plugin,
      model: model as Plugin,
      translate: translate as Plugin,
    },
    {
      settings: { egress_allow: '127.0.0.0/8' },
      upstreams: {
        first: { url: first, key: 'k', formats, ...upstream },
        second: { url: second, key: 'k', formats },
        speech: { url: second, formats: ['openai-speech'] },
      },
      models: { m: { to: ['speech/tts', 'first/one', 'second/two'], free: true } },
      routes: [
        {
          path: 'POST /v1/chat/completions',
          name: 'chat',
          model: 'body',
          translate: 'openai-chat',
        },
      ],
    } as unknown as Parameters<typeof startTestServer>[2],
    log,
  )
  const ask = async (path = '/v1/chat/completions') => {
    const count = lines.length
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body })
    const text = await response.text()
    await eventually(() => lines.length > count)
    return { text, line: lines.at(-1) as Line }
  }
  return { ask }
}
const FORMAT = { upstream: 'speech', target: 'tts', why: 'format' }

t.test('skipped targets: an address that failed is named until it is asked again', async t => {
  const { ask } = await start(t, { health: { failures: 1, eject: '60s' } }, [503])
  t.match((await ask()).line, { status: 200, fields: { skipped: [FORMAT] } })
  const { skipped } = (await ask()).line.fields ?? {}
  t.match(skipped, [FORMAT, { upstream: 'first', target: 'one', why: 'ejected' }])
})

t.test('skipped targets: an address or keys that ask to wait are named', async t => {
  const one = await start(t, {}, [429])
  await one.ask()
  t.match((await one.ask()).line.fields?.skipped, [FORMAT, { upstream: 'first', why: 'paused' }])
  const keys = await start(t, { key: ['k1', 'k2'] }, [429, 429])
  await keys.ask()
  t.match((await keys.ask()).line.fields?.skipped, [FORMAT, { upstream: 'first', why: 'limited' }])
  const refused = await start(t, { key: ['k1', 'k2'] }, [401, 401])
  await refused.ask()
  t.match((await refused.ask()).line.fields?.skipped, [FORMAT, { why: 'resting' }])
})

t.test('404: the log line has what the client was told, also without a route', async t => {
  const { ask } = await start(t, {}, [])
  const { text, line } = await ask('/v1/chat/completion')
  t.match(line, { status: 404, fields: { message: 'Invalid URL (POST /v1/chat/completion)' } })
  t.ok(text.includes(String(line.fields?.message)))
})
