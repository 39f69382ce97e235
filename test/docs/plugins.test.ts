/** docs/plugins.md: its plugins compile and work, and its commands run in a fresh clone. */
import { spawnSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startGateway } from '../helpers/gateway/gateway.ts'
import { startHttpUpstream } from '../helpers/gateway/test-server.ts'
import { operatorEnv, plainCommand } from '../helpers/operator.ts'
import { LONG } from '../helpers/run-settings.ts'
import { blocksOf, sessionOf } from './blocks.ts'
import { clone } from './clone.ts'

const PAGE = 'docs/plugins.md'
const root = fileURLToPath(new URL('../..', import.meta.url))

t.test(
  'docs/plugins.md: its plugins compile and its commands run in a fresh clone',
  { skip: !LONG && 'CI and the long form run them' },
  async t => {
    const copy = await clone(t)
    const files = blocksOf(PAGE).filter(({ file }) => file !== '')
    t.ok(files.length >= 4)
    const output = await copy.start()
    for (const { file, text } of files) writeFileSync(join(copy.folder, file), text)
    await output.until(/reload #\d+: .*route/)
    // The test that `plugin new` writes is run by the README's session.
    const out = await copy.shell(sessionOf(PAGE).replace(/^npx tap .*$/m, ''))
    t.match(out, /no problems \(2 routes/)
    t.match(out, /x-route: GET \/items\/\{id\}/)
    t.match(out, /"time":"20\d\d-/)

    // Also checks the plugins that `plugin new` wrote.
    const config = readFileSync(join(root, 'tsconfig.json'), 'utf8')
    writeFileSync(join(copy.folder, 'tsconfig.json'), config.replace('"engine", ', ''))
    const types = spawnSync(...plainCommand(join(root, 'node_modules/.bin/tsc'), '--noEmit'), {
      cwd: copy.folder,
      env: operatorEnv(),
      encoding: 'utf8',
    })
    t.equal(types.stdout + types.stderr, '')
  },
)

t.test('docs/plugins.md: its signer signs the request that arrives', async t => {
  const signer = blocksOf(PAGE).find(({ file }) => file === 'plugins/hmac.ts')?.text ?? ''
  const secret = Buffer.from('a secret of the upstream')
  const verdicts: boolean[] = []
  const url = await startHttpUpstream(t, async (incoming, response) => {
    const hash = createHash('sha256')
    for await (const part of incoming) hash.update(part as Buffer)
    const { host, authorization = '', 'x-ms-date': date } = incoming.headers
    const signed = `${incoming.method}\n${incoming.url}\n${date};${host};${hash.digest('base64')}`
    const signature = createHmac('sha256', secret).update(signed).digest('base64')
    verdicts.push(authorization.endsWith(`&Signature=${signature}`))
    response.end('{}')
  })
  const gateway = await startGateway({
    inside: true,
    files: { 'plugins/hmac.ts': signer },
    routes: `pipeline: [hmac]
upstreams:
  main: { url: '${url}/base', hmac_secret: '${secret.toString('base64')}' }
routes:
  - { path: 'GET|POST /items/{id}', upstream: main }
`,
  })
  t.teardown(() => gateway.stop())
  await fetch(`${gateway.url}/items/7?sort=name`, { method: 'POST', body: '{"a":1}' })
  await fetch(`${gateway.url}/items/7`)
  t.same(verdicts, [true, true])
})
