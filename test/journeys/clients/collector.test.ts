/** A collector of OpenTelemetry, built from its own modules, accepts the traces and metrics of the
 *  gateway and prints what the calls were. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { freePort } from '../../helpers/free-port.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { postJson, prepareCustomer } from '../../helpers/money/billing-gateway.ts'
import { LONG } from '../../helpers/run-settings.ts'

const FOLDER = fileURLToPath(new URL('../../../.ci/collector', import.meta.url))
const BODY = { model: 'words', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
const settings = (port: number): string => `
receivers: { otlp: { protocols: { http: { endpoint: '127.0.0.1:${port}' } } } }
exporters: { debug: { verbosity: detailed } }
service:
  telemetry: { metrics: { level: none } }
  pipelines:
    traces: { receivers: [otlp], exporters: [debug] }
    metrics: { receivers: [otlp], exporters: [debug] }
`

/** Builds the collector; undefined where Go or a module cannot be had. */
const buildCollector = (t: Test): Promise<string | undefined> => {
  const program = join(t.testdir(), 'collector')
  return promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: FOLDER })
    .then(() => program)
    .catch(() => undefined)
}
/** Starts it. Returns what it has printed. */
const startCollector = async (t: Test, program: string, port: number): Promise<() => string> => {
  const file = `${program}-${port}.yaml`
  writeFileSync(file, settings(port))
  const child = spawn(program, [file], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => (output += text))
  await eventually(() => output.includes('Everything is ready'))
  return () => output
}

const PRINTED = [
  /Name +: POST \/v1\/chat\/completions/,
  /Name +: chat words/,
  /gen_ai\.provider\.name: Str\(up\)/,
  /gen_ai\.usage\.input_tokens: Int\(\d+\)/,
  /gen_ai\.usage\.cost\.amount: Double\(0\.\d+\)/,
  /Kind +: Client/,
  /Name: gen_ai\.client\.inference\.duration/,
  /Name: gen_ai\.client\.inference\.usage\.output_tokens/,
  /ExplicitBounds #13: 81\.92/,
]

t.test(
  'collector: accepts traces and metrics of calls, in JSON and in Protobuf',
  { skip: !LONG && 'CI and the long form run it', timeout: 900_000 },
  async t => {
    const program = await buildCollector(t)
    if (!program) {
      t.pass('skipped: the collector cannot be built here')
      return
    }
    const ports = [await freePort(), await freePort()] as const
    const json = await startCollector(t, program, ports[0])
    const protobuf = await startCollector(t, program, ports[1])
    const { key } = await prepareCustomer(
      `
telemetry:
  to:
    - http://127.0.0.1:${ports[0]}
    - { url: 'http://127.0.0.1:${ports[1]}', encoding: protobuf, temporality: delta }
  metrics: 1s
pipeline: [errors, telemetry, auth, model, meter, translate, sandbox]
upstreams: { up: { url: 'sandbox:', formats: [openai-chat] } }
models: { words: { to: up, price: { input: 1 / 1k, output: 1 / 1k }, output: 1000 } }
routes:
  - { path: POST /v1/chat/completions, auth: key, model: body, translate: openai-chat, errors: openai }
`,
      10n ** 11n,
    )
    for (const stream of [false, true])
      t.equal(
        (await postJson(key, '/v1/chat/completions', { ...BODY, stream })).response.status,
        200,
      )
    for (const [output, temporality] of [
      [json, /AggregationTemporality: Cumulative/],
      [protobuf, /AggregationTemporality: Delta/],
    ] as const) {
      for (const pattern of [...PRINTED, temporality])
        await eventually(() => pattern.test(output()))
      t.notMatch(output(), /error/i, 'the collector reports no error')
    }
  },
)
