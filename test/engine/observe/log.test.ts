/** Log lines: have their fields and no secrets. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createLog } from '../../../engine/observe/log.ts'

const collect = (secrets: readonly string[] = [], level = 'info') => {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, log: createLog({ level, destination, secrets, process: 'worker 2' }) }
}

t.test('log: a line is JSON with level, process and fields', async t => {
  const { lines, log } = collect()
  log.info({ id: 'r1', status: 200 }, 'served')
  log.debug({ id: 'r2' })
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0] ?? ''), {
    level: 'info',
    process: 'worker 2',
    pid: process.pid,
    id: 'r1',
    status: 200,
    msg: 'served',
  })
})

t.test(
  'log: fields named like secrets are hidden at any depth, and the object is not changed',
  async t => {
    const { lines, log } = collect()
    const headers = {
      authorization: 'Bearer canary-1',
      Cookie: 'session=canary-2',
      'x-api-key': 'canary-3',
      'proxy-authorization': 'Basic canary-4',
      'x-goog-api-key': ['canary-5'],
      accept: 'text/plain',
    }
    log.info({ request: { headers, list: [{ password: 'canary-6' }] }, api_key: 'canary-7' })
    t.notMatch(lines[0], /canary/)
    t.match(lines[0], 'text/plain')
    t.equal(headers.authorization, 'Bearer canary-1')
  },
)

t.test('log: queries, user names in addresses and bearer texts are hidden anywhere', async t => {
  const { lines, log } = collect()
  log.info({ url: '/v1/x?key=canary-1&api_key=canary-2&TOKEN=canary-3&page=2#end' })
  log.info({ to: 'https://user:canary-4@host.example/v1' }, 'POST https://canary-5@host/ failed')
  log.warn({}, 'sent Authorization: bearer canary-6 to host')
  t.notMatch(lines.join(''), /canary/)
  t.match(lines[0], '/v1/x?key=[hidden]')
  t.match(lines[1], 'https://[hidden]@host.example/v1')
})

t.test('log: keys in paths and messages are hidden, ids and words are not', async t => {
  const { lines, log } = collect()
  const line = {
    id: 'req_1',
    requestId: undefined,
    trace: 't',
    route: 'chat',
    method: 'GET',
    path: '/',
    status: 200,
    end: 'complete',
    ms: 1,
    added: 1,
    bytes: 1,
    attempts: 1,
    upstream: undefined,
    target: undefined,
    code: undefined,
    details: undefined,
  }
  const paths: readonly (readonly [route: string, path: string, expected: string])[] = [
    ['chat', '/v1/x/sk-Ab3dEf6hIj9lMn2pQr5t', '/v1/x/[hidden]'],
    ['chat', '/v1/x/sk-proj-Ab3d_Ef6h-Ij9lMn2pQr5t/y', '/v1/x/[hidden]/y'],
    ['none', '/nowhere/st-Ab3dEf6hIj9lMn2pQr5t', '/nowhere/[hidden]'],
    ['none', '/nowhere/aBcD3fGh1jKlMn0pQrStUv/b', '/nowhere/[hidden]/b'],
    ['none', '/nowhere/0123456789abcdef0123456789abcdef', '/nowhere/[hidden]'],
    ['none', '/v1/models/claude-sonnet-4-20250514', '/v1/models/claude-sonnet-4-20250514'],
    ['none', '/v1/chat/completionss', '/v1/chat/completionss'],
    ['chat', '/v1/responses/resp_0123456789abcdef0123456789abcdef', ''],
    ['chat', '/v1/files/file-aBcD3fGh1jKlMn0pQrStUv', ''],
    ['chat', '/docs/key-management-of-tenants', ''],
  ]
  for (const [route, path, expected] of paths) {
    for (let again = 0; again < 2; again++) log.request({ ...line, route, path })
    for (const text of lines.splice(0)) t.equal(JSON.parse(text).path, expected || path)
  }
  log.request({ ...line, requestId: 'sk-Ab3dEf6hIj9lMn2pQr5t' })
  log.request({ ...line, details: { resolution: '720p', name: 'sk-Ab3dEf6hIj9lMn2pQr5t' } })
  t.same(JSON.parse(lines.at(-1) ?? '').details, { resolution: '720p', name: '[hidden]' })
  log.warn({ at: '/x/sk-Ab3dEf6hIj9lMn2pQr5t?a=1' }, 'asked for /x/sk-Ab3dEf6hIj9lMn2pQr5t')
  t.notMatch(lines.join(''), /Ab3d/)
})

t.test('log: known secrets are hidden in any text, also those of a reload', async t => {
  const { lines, log } = collect(['sk-canary.1', 'canary"quoted\\2', 'no'])
  log.info({ path: '/x/sk-canary.1' }, 'the text canary"quoted\\2; no')
  log.hide(['later-canary'])
  log.info({ path: 'a later-canary, and sk-canary.1' })
  t.notMatch(lines.join(''), /canary/)
  t.match(lines[0], '; no', 'a value of two letters is not a secret')
  t.match(lines[1], 'a [hidden], and [hidden]')
})

t.test('log: a chain of causes has no secrets in messages, stacks and fields', async t => {
  const { lines, log } = collect(['sk-canary-0'])
  const deepest = Object.assign(new Error('connect to http://u:canary-1@proxy/ failed'), {
    headers: { authorization: 'canary-2' },
  })
  const cause = new Error('GET /y?key=canary-3', { cause: deepest })
  log.error({ error: new Error('with sk-canary-0', { cause }), id: 'r1' })
  log.error(new Error('bare sk-canary-0', { cause: deepest }))
  t.notMatch(lines.join(''), /canary/)
  t.match(lines[0], 'GET /y?key=[hidden]', 'the line has the causes')
  t.match(lines[0], 'log.test.ts', 'the line has the stacks')
  t.match(JSON.parse(lines[1] ?? '').err.message, 'bare [hidden]')
})

t.test('log: a circular reference ends', async t => {
  const { lines, log } = collect()
  const circle: Record<string, unknown> = { name: 'round' }
  circle.self = circle
  log.info(circle)
  t.match(lines[0], 'round')
})

t.test('log: the level can change, and `silent` writes nothing', async t => {
  const { lines, log } = collect([], 'silent')
  log.error({}, 'below the level')
  log.level('debug')
  log.debug({}, 'at the level')
  t.equal(lines.length, 1)
})

const run = async (code: string) => {
  const url = new URL('../../../engine/observe/log.ts', import.meta.url)
  const source = `import { createLog } from '${url}'; const log = createLog({ level: 'info' }); ${code}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source])
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
  return output
}

t.test('log: buffered lines are written at exit and after a crash', async t => {
  const many = 'for (let i = 0; i < 1000; i++) log.info({ i });'
  t.equal((await run(`${many} process.exit(1)`)).split('\n').length, 1001)
  t.equal((await run(`${many} throw new Error('crash')`)).split('\n').length, 1001)
  t.equal(
    (await run(`${many} await log.flush(); process.kill(process.pid, 'SIGKILL')`)).split('\n')
      .length,
    1001,
  )
})

t.test('log: gives the lines of requests to the request log, at any level', async t => {
  const { lines, log } = collect([], 'warn')
  const keptLines: string[] = []
  const line = {
    id: 'r1',
    requestId: undefined,
    trace: 't',
    route: 'home',
    method: 'GET',
    path: '/',
    status: 200,
    end: 'complete',
    ms: 1,
    added: 1,
    bytes: 1,
    attempts: 0,
    upstream: undefined,
    target: undefined,
    code: undefined,
    fields: { account: 1, name: 'a"b', list: [{ ms: 1 }], model: 'sk-abcdefghijklmnop1234' },
    details: undefined,
  }
  log.request(line)
  log.keep(text => void keptLines.push(text))
  log.request(line)
  log.level('info')
  log.request(line)
  log.keep(undefined)
  log.request(line)
  t.equal(lines.length, 2)
  t.equal(keptLines.length, 2)
  t.equal(keptLines[1], lines[0], 'it is the very line of the log')
  t.match(JSON.parse(keptLines[0] ?? ''), {
    account: 1,
    name: 'a"b',
    list: [{ ms: 1 }],
    model: '[hidden]',
  })
})
