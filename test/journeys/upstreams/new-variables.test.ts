/** A new key in .env, or in a file that `${file:}` names, is live without a restart. */
import { once } from 'node:events'
import { chmodSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { useShippedPlugins } from '../../helpers/environment.ts'
import { withOutput } from '../../helpers/gateway/command-line.ts'
import { startPrimary } from '../../helpers/gateway/primary.ts'

/** An upstream that records the keys of its requests. */
const startUpstream = async (t: Test) => {
  const keys: (string | undefined)[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization)
    response.setHeader('content-type', 'application/json')
    response.end('{"object":"list","data":[{"id":"m"}]}')
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return { keys, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
const yamlOf = (url: string, key: string) => `
settings: { listen: 127.0.0.1:0, admin: 127.0.0.1:0 }
upstreams: { up: { url: '${url}', key: '${key}' } }
routes: [{ path: GET /v1/models, upstream: up }]
`
const prepare = async (t: Test, key: string, more: Parameters<typeof startPrimary>[1]) => {
  const upstream = await startUpstream(t)
  const { files, ...options } = more
  const yaml = yamlOf(upstream.url, key)
  const gateway = await startPrimary(t, { files: { ...files, 'routes.yaml': yaml }, ...options })
  /** The key that the upstream gets. */
  const keyNow = async () => {
    t.equal((await fetch(`${gateway.url}/v1/models`)).status, 200)
    return upstream.keys.at(-1)?.replace('Bearer ', '')
  }
  return {
    ...gateway,
    gateway,
    upstream,
    keyNow,
    file: (name: string) => join(gateway.folder, name),
  }
}

t.test('.env: a new key is live without a restart', async t => {
  const files = { '.env': 'UP_KEY=first-key\nOTHER=1\n' }
  const { gateway, keyNow, file } = await prepare(t, '${UP_KEY:-}-${WINS:-}', {
    files,
    env: { WINS: 'environment' },
  })
  const env = file('.env')
  t.equal(await keyNow(), 'first-key-environment')
  writeFileSync(env, 'UP_KEY=second-key\nWINS=file\n')
  await gateway.until(/reload #2: /)
  t.equal(await keyNow(), 'second-key-environment', 'written in place; the environment wins')
  writeFileSync(file('.env.new'), 'UP_KEY=third-key\n')
  renameSync(file('.env.new'), env)
  await gateway.until(/reload #3: /)
  t.equal(await keyNow(), 'third-key-environment', 'renamed over it')

  writeFileSync(env, 'UP_KEY=fourth-key\nno variable\n')
  await gateway.until(/ENV_SYNTAX[\s\S]*still serving #3/)
  t.equal(await keyNow(), 'third-key-environment', 'a broken line keeps the old version')
  rmSync(env)
  await gateway.until(/ENV_UNREADABLE/)
  t.equal(await keyNow(), 'third-key-environment', 'so does a missing file')
  writeFileSync(env, 'UP_KEY=fifth-key\n')
  await gateway.until(/reload #4: /)
  t.equal(await keyNow(), 'fifth-key-environment')
  t.notMatch(gateway.messages(), /(third|fourth|fifth)-key/, 'no key is printed')
  if (process.getuid?.() !== 0) {
    chmodSync(env, 0o000)
    writeFileSync(file('routes.yaml'), `# \n${readFileSync(file('routes.yaml'), 'utf8')}`)
    await gateway.until(/ENV_UNREADABLE[\s\S]*ENV_UNREADABLE/)
    chmodSync(env, 0o600)
  }

  writeFileSync(env, '# none\n')
  await gateway.until(/reload #5: /)
  t.equal(await keyNow(), '-environment', 'a variable that was removed is gone')
})

t.test('.env: a file that is written later is read', async t => {
  const { gateway, keyNow, file } = await prepare(t, '${UP_KEY:-none}', { files: {} })
  t.equal(await keyNow(), 'none')
  writeFileSync(file('.env'), 'UP_KEY=new-key\n')
  await gateway.until(/reload #2: /)
  t.equal(await keyNow(), 'new-key')
})

t.test('.env: upstreams test asks with the new key', async t => {
  useShippedPlugins(t)
  const { gateway, upstream, file } = await prepare(t, '${UP_KEY:-}', {
    files: { '.env': 'UP_KEY=first-key\n' },
    env: { TOLLGATE_PLUGINS: '' },
  })
  writeFileSync(file('.env'), 'UP_KEY=second-key\n')
  await gateway.until(/reload #2: /)
  const result = await withOutput(t, ['upstreams', 'test', '-c', file('routes.yaml')], {})
  t.equal(result.code, 0, result.err)
  t.equal(upstream.keys.at(-1), 'Bearer second-key')
})

/** Like a mounted Secret: NAME -> ..data/NAME, ..data -> ..1. */
const mounted = (name: string) => ({
  files: { [`..1/${name}`]: 'UP_KEY=first\n', [`..2/${name}`]: 'UP_KEY=second\n' },
  prepare: (folder: string) => {
    symlinkSync('..1', join(folder, '..data'))
    symlinkSync(`..data/${name}`, join(folder, name))
  },
})
for (const [name, key, values] of [
  ['.env', '${UP_KEY:-}', ['first', 'second', 'third']],
  ['secret', '${file:secret}', ['UP_KEY=first', 'UP_KEY=second', 'UP_KEY=third']],
] as const)
  t.test(`${name}: the link of a mounted folder is swapped`, async t => {
    const { gateway, keyNow, file } = await prepare(t, key, mounted(name))
    t.equal(await keyNow(), values[0])
    symlinkSync('..2', file('..next'))
    renameSync(file('..next'), file('..data'))
    await gateway.until(/reload #2: /)
    t.equal(await keyNow(), values[1])
    writeFileSync(file(`..2/${name}`), 'UP_KEY=third\n')
    await gateway.until(/reload #3: /)
    t.equal(await keyNow(), values[2], 'and then written in place')
    rmSync(file('..data'))
    await gateway.until(name === '.env' ? /ENV_UNREADABLE/ : /FILE_MISSING/)
    t.equal(await keyNow(), values[2], 'a missing file keeps the old version')
  })
