/** Objects of a team over HTTP and both stores: who lists, reads, uses and deletes what another
 *  member, the caller, and the account itself made. */
import t, { type Test } from 'tap'
import { type ConsoleClient, linkIn, startConsole } from '../../helpers/console/console-gateway.ts'
import { eventually } from '../../helpers/eventually.ts'
import { startGeminiStore } from '../../helpers/gateway/gemini-store.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { sharedPostgres } from '../../helpers/store/postgres.ts'
import { ENGINES, type Engine } from '../../helpers/store/store.ts'

t.setTimeout(scaled(300_000))

const ROLES = ['owner', 'admin', 'member', 'viewer'] as const
type Role = (typeof ROLES)[number]
type Fields = Readonly<Record<string, unknown>>
interface Reply {
  readonly status: number
  readonly body: Fields
}
/** Sends JSON, or a form, with the credential of one person. */
type Ask = (method: string, path: string, body?: object) => Promise<Reply>

const REPEATED = { 'idempotency-key': 'k' } as const

const startTeam = async (t: Test, engine: Engine) => {
  const env = engine === 'postgres' ? { DATABASE_URL: await (await sharedPostgres()).create() } : {}
  const provider = await startGeminiStore()
  t.teardown(() => provider.close())
  const gateway = await startConsole(t, {
    env: { ...env, GEMINI_BASE_URL: provider.url, GEMINI_API_KEY: 'provider' },
  })
  const askAs =
    (headers: Readonly<Record<string, string>>): Ask =>
    async (method, path, body) => {
      const isForm = body instanceof FormData
      const response = await fetch(gateway.url + path, {
        method,
        headers: { ...headers, ...(body && !isForm && { 'content-type': 'application/json' }) },
        ...(body && { body: isForm ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : { text } }
    }
  const account = await gateway.customer('acme', 10_000)
  const makeKey = async (more = {}, by = account) => {
    const { body } = await by.ask('POST', '/api/keys', { name: 'k', ...more })
    const credential = { authorization: `Bearer ${body.data.key}` }
    return {
      id: body.data.id,
      ask: askAs(credential),
      repeat: askAs({ ...credential, ...REPEATED }),
    }
  }
  const invite = async (name: string, role: Role) => {
    const { body } = await account.ask('POST', '/api/members', { name, role })
    const client = await gateway.signIn({ link: linkIn(String(body.data.url)) })
    return { client, key: await makeKey({ member: name }) }
  }
  const inSession = ({ cookie, csrf }: ConsoleClient, more = {}): Ask =>
    askAs({ cookie, 'x-csrf-token': csrf, ...more })
  const people = {
    owner: await invite('olga', 'owner'),
    admin: await invite('adam', 'admin'),
    member: await invite('mia', 'member'),
    viewer: await invite('vera', 'viewer'),
    other: await invite('max', 'member'),
  }
  const otherAccount = (await makeKey({}, await gateway.customer('other', 10))).ask
  const operate = (path: string, body: object) =>
    gateway.ask('POST', `/api/admin/${path}`, body, { authorization: `Bearer ${gateway.token}` })
  return {
    operate,
    invite,
    account,
    otherAccount,
    accountKey: await makeKey(),
    people,
    makeKey,
    inSession,
  }
}
type Team = Awaited<ReturnType<typeof startTeam>>

type Use = (ask: Ask, id: string) => Promise<Reply>
/** The operations on objects of one kind. Each resolves to the reply of its request. */
interface Kind {
  make(ask: Ask): Promise<string>
  list?(ask: Ask): Promise<readonly string[]>
  /** By name: the requests, which succeed with 200. */
  readonly read: Readonly<Record<string, Use>>
  readonly use: Readonly<Record<string, Use>>
  /** Ends the object. */
  readonly end: Use
  /** An id that no object has. Undefined: an object of another account is as unknown. */
  readonly unknown: string | undefined
}

const dataIn = ({ body }: Reply): readonly string[] =>
  (body.data as readonly { readonly id: string }[]).map(({ id }) => id)
const created = ({ status, body }: Reply, id = body.id): string => {
  if (status !== 200) throw new Error(`refused: ${JSON.stringify(body)}`)
  return String(id)
}

const file = (purpose: string, name: string, content: string | Uint8Array): FormData => {
  const form = new FormData()
  form.append('purpose', purpose)
  form.append('file', new Blob([content as string]), name)
  return form
}
const CALL = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions' }
const LINE = `${JSON.stringify({ ...CALL, body: { model: 'gp-4.1', messages: [] } })}\n`

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const part = (text: string): FormData => {
  const form = new FormData()
  form.append('data', new Blob([text]), 'part')
  return form
}
const content = (part: object) => ({ messages: [{ role: 'user', content: [part] }] })

const files: Kind = {
  make: async ask => created(await ask('POST', '/v1/files', file('batch', 'a.jsonl', LINE))),
  list: async ask => dataIn(await ask('GET', '/v1/files?purpose=batch')),
  read: {
    show: (ask, id) => ask('GET', `/v1/files/${id}`),
    content: (ask, id) => ask('GET', `/v1/files/${id}/content`),
    'the page behind it': (ask, id) => ask('GET', `/v1/files?after=${id}&limit=1`),
  },
  use: {
    chat: (ask, id) =>
      ask('POST', '/v1/chat/completions', {
        model: 'gp-4.1',
        ...content({ type: 'file', file: { file_id: id } }),
      }),
    'a response': (ask, id) =>
      ask('POST', '/v1/responses', {
        model: 'gp-4.1',
        input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
      }),
    'a background response': (ask, id) =>
      ask('POST', '/v1/responses', {
        model: 'gp-4.1',
        background: true,
        input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
      }),
    messages: (ask, id) =>
      ask('POST', '/v1/messages', {
        model: 'cl-sonnet-4-5',
        max_tokens: 9,
        ...content({ type: 'document', source: { type: 'file', file_id: id } }),
      }),
    'a batch': (ask, id) =>
      ask('POST', '/v1/batches', {
        input_file_id: id,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      }),
  },
  end: (ask, id) => ask('DELETE', `/v1/files/${id}`),
  unknown: `file-${'0'.repeat(32)}`,
}
/** Files that tasks name. */
const images: Kind = {
  make: async ask => created(await ask('POST', '/v1/files', file('vision', 'a.png', PNG))),
  list: async ask => dataIn(await ask('GET', '/v1/files?purpose=vision')),
  read: { show: files.read.show as Use },
  use: {
    'a task': (ask, id) =>
      ask('POST', '/ent/v2/img2video', { model: 'vdq3', images: [id], prompt: 'a' }),
  },
  end: files.end,
  unknown: files.unknown,
}
/** An upload that takes parts. */
const uploads: Kind = {
  make: async ask =>
    created(
      await ask('POST', '/v1/uploads', {
        purpose: 'batch',
        filename: 'a.jsonl',
        bytes: LINE.length,
        mime_type: 'application/jsonl',
      }),
    ),
  read: {},
  use: { 'a part': (ask, id) => ask('POST', `/v1/uploads/${id}/parts`, part(LINE)) },
  end: (ask, id) => ask('POST', `/v1/uploads/${id}/cancel`, {}),
  unknown: `upload_${'0'.repeat(32)}`,
}
const MODEL = { model: 'gp-4.1' } as const
/** The part that ids of an object and of its items share. */
const bareOf = (id: string): string => id.replace(/^[a-z]+[_-]/, '')
const reference = (id: string) => ({
  ...MODEL,
  input: [{ type: 'item_reference', id: `msg_${bareOf(id)}_0` }],
})
const responses: Kind = {
  make: async ask => created(await ask('POST', '/v1/responses', { ...MODEL, input: 'Hi' })),
  read: {
    show: (ask, id) => ask('GET', `/v1/responses/${id}`),
    input: (ask, id) => ask('GET', `/v1/responses/${id}/input_items`),
  },
  use: {
    'a response': (ask, id) =>
      ask('POST', '/v1/responses', { ...MODEL, input: 'On', previous_response_id: id }),
    'a count': (ask, id) =>
      ask('POST', '/v1/responses/input_tokens', { ...MODEL, previous_response_id: id }),
    'a summary': (ask, id) =>
      ask('POST', '/v1/responses/compact', { ...MODEL, previous_response_id: id }),
    'an item': (ask, id) => ask('POST', '/v1/responses', reference(id)),
  },
  end: (ask, id) => ask('DELETE', `/v1/responses/${id}`),
  unknown: `resp_${'0'.repeat(32)}`,
}
const backgroundResponses: Kind = {
  make: async ask =>
    created(await ask('POST', '/v1/responses', { ...MODEL, input: 'Hi', background: true })),
  read: responses.read,
  use: { cancel: (ask, id) => ask('POST', `/v1/responses/${id}/cancel`, {}) },
  end: responses.end,
  unknown: responses.unknown,
}
const ITEMS = { items: [{ role: 'user', content: 'Hi' }] }
const conversations: Kind = {
  make: async ask => created(await ask('POST', '/v1/conversations', ITEMS)),
  read: {
    show: (ask, id) => ask('GET', `/v1/conversations/${id}`),
    items: (ask, id) => ask('GET', `/v1/conversations/${id}/items`),
    item: (ask, id) => ask('GET', `/v1/conversations/${id}/items/msg_${bareOf(id)}_0`),
  },
  use: {
    'a response': (ask, id) =>
      ask('POST', '/v1/responses', { ...MODEL, input: 'On', conversation: id }),
    'an item': (ask, id) => ask('POST', '/v1/responses', reference(id)),
    update: (ask, id) => ask('POST', `/v1/conversations/${id}`, { metadata: { a: 'b' } }),
    'new items': (ask, id) => ask('POST', `/v1/conversations/${id}/items`, ITEMS),
  },
  end: async (ask, id) => {
    const item = await ask('DELETE', `/v1/conversations/${id}/items/msg_${bareOf(id)}_0`)
    return isSuccess(item) ? ask('DELETE', `/v1/conversations/${id}`) : item
  },
  unknown: `conv_${'0'.repeat(32)}`,
}
const INTERACTIONS = '/v1beta/interactions'
const interactions: Kind = {
  make: async ask => created(await ask('POST', INTERACTIONS, { ...MODEL, input: 'Hi' })),
  read: {
    show: (ask, id) => ask('GET', `${INTERACTIONS}/${id}`),
    input: (ask, id) => ask('GET', `${INTERACTIONS}/${id}?include_input=true`),
  },
  use: {
    'an interaction': (ask, id) =>
      ask('POST', INTERACTIONS, { ...MODEL, input: 'On', previous_interaction_id: id }),
  },
  end: (ask, id) => ask('DELETE', `${INTERACTIONS}/${id}`),
  unknown: `int_${'0'.repeat(32)}`,
}
const message = (thread: object) => ({
  ...MODEL,
  max_tokens: 9,
  thread,
  messages: [{ role: 'user', content: 'Hi' }],
})
const threads: Kind = {
  make: async ask => created(await ask('POST', '/v1/messages', message({ type: 'create' }))),
  read: {},
  use: {
    'a message': (ask, id) =>
      ask('POST', '/v1/messages', message({ type: 'continue', previous_message_id: id })),
  },
  end: (ask, id) => ask('DELETE', `/v1/messages/${id}`),
  unknown: `msg_${'0'.repeat(32)}`,
}
const GENERATE = '/v1beta/models/gx-2.5-flash:generateContent'
const contents = (...parts: readonly object[]) => ({
  contents: [{ role: 'user', parts: [{ text: 'Hi' }, ...parts] }],
})
const namesIn = (list: unknown): readonly string[] =>
  ((list ?? []) as readonly { readonly name: string }[]).map(({ name }) => name)
const providerFiles: Kind = {
  make: async ask => {
    const reply = await ask('POST', '/upload/v1beta/files', part('a file'))
    return created(reply, (reply.body.file as Fields | undefined)?.name)
  },
  list: async ask => namesIn((await ask('GET', '/v1beta/files?pageSize=100')).body.files),
  read: {
    show: (ask, id) => ask('GET', `/v1beta/${id}`),
    download: (ask, id) => ask('GET', `/v1beta/${id}:download`),
  },
  use: {
    'an answer': (ask, id) =>
      ask('POST', GENERATE, contents({ fileData: { fileUri: id, mimeType: 'text/plain' } })),
    'a cache': (ask, id) =>
      ask('POST', '/v1beta/cachedContents', {
        model: 'models/gx-2.5-flash',
        ...contents({ fileData: { fileUri: id, mimeType: 'text/plain' } }),
      }),
  },
  end: (ask, id) => ask('DELETE', `/v1beta/${id}`),
  unknown: undefined,
}
const caches: Kind = {
  make: async ask => {
    const body = { model: 'models/gx-2.5-flash', ...contents() }
    const reply = await ask('POST', '/v1beta/cachedContents', body)
    return created(reply, reply.body.name)
  },
  list: async ask =>
    namesIn((await ask('GET', '/v1beta/cachedContents?pageSize=100')).body.cachedContents),
  read: { show: (ask, id) => ask('GET', `/v1beta/${id}`) },
  use: {
    'an answer': (ask, id) => ask('POST', GENERATE, { ...contents(), cachedContent: id }),
    update: (ask, id) => ask('PATCH', `/v1beta/${id}`, { ttl: '7200s' }),
  },
  end: (ask, id) => ask('DELETE', `/v1beta/${id}`),
  unknown: undefined,
}
const KINDS: Readonly<Record<string, Kind>> = {
  files,
  images,
  uploads,
  responses,
  'background responses': backgroundResponses,
  conversations,
  interactions,
  threads,
  caches,
  'provider files': providerFiles,
}

const REQUEST = /req_\w+|"trace_id":"\w+"/g
const isSuccess = ({ status }: Reply): boolean => status < 300
/** The same request for another id: whether the object exists must not show. */
const expectUnknown = async (
  t: Test,
  request: Use,
  ask: Ask,
  { id, unknown, title }: { readonly id: string; readonly unknown: string; readonly title: string },
) => {
  const [foreign, absent] = [await request(ask, id), await request(ask, unknown)]
  const shapeOf = ({ status, body }: Reply, name: string) => ({
    status,
    body: JSON.stringify(body).replaceAll(bareOf(name), 'ID').replaceAll(REQUEST, 'REQUEST'),
  })
  t.same(shapeOf(foreign, id), shapeOf(absent, unknown), `${title}: as unknown`)
  t.notOk(isSuccess(foreign), title)
}

const checkKind = async (t: Test, kind: Kind, { people, accountKey, otherAccount }: Team) => {
  const makers: Readonly<Record<string, Ask>> = {
    'another member': people.other.key.ask,
    'the member': people.member.key.ask,
    'the account': accountKey.ask,
  }
  const unknown = kind.unknown ?? (await kind.make(otherAccount))
  const ids: Record<string, string> = {}
  for (const [name, ask] of Object.entries(makers)) ids[name] = await kind.make(ask)
  const sees = (role: Role, maker: string) => role !== 'member' || maker !== 'another member'
  for (const role of ROLES) {
    const { ask } = people[role].key
    const visible = Object.keys(ids).filter(maker => sees(role, maker))
    if (kind.list)
      t.same(
        new Set(await kind.list(ask)),
        new Set(visible.map(maker => ids[maker])),
        `${role}: the list`,
      )
    for (const [maker, id] of Object.entries(ids)) {
      const check = async (
        name: string,
        request: Use,
        { refused, object = id }: { readonly refused: boolean; readonly object?: string },
      ) => {
        const title = `${role}: ${name}, made by ${maker}`
        if (refused) t.equal((await request(ask, object)).status, 403, title)
        else if (sees(role, maker)) {
          const reply = await request(ask, object)
          t.ok(
            isSuccess(reply),
            isSuccess(reply) ? title : `${title} ${JSON.stringify(reply.body)}`,
          )
        } else await expectUnknown(t, request, ask, { id: object, unknown, title })
      }
      for (const [name, request] of Object.entries(kind.read))
        await check(name, request, { refused: false })
      for (const [name, request] of Object.entries(kind.use))
        await check(name, request, { refused: role === 'viewer' })
      const object = await kind.make(makers[maker] as Ask)
      await check('delete', kind.end, { refused: role === 'viewer', object })
      if (!isSuccess(await kind.end(accountKey.ask, object)) && !sees(role, maker))
        t.fail(`${role}: it is still there`)
    }
  }
}

const checkMoves = async (t: Test, { account, people, makeKey, inSession }: Team) => {
  const { member, other, owner } = people
  const mia = member.key.ask
  const status = async (id: string) => (await mia('GET', `/v1/files/${id}`)).status
  const bySession = await files.make(inSession(other.client))
  t.equal(await status(bySession), 404, 'a file of a session belongs to its member')
  t.equal(await status(await files.make(inSession(account))), 200, 'it belongs to nobody')
  const key = await makeKey({ member: 'max' })
  const id = await files.make(key.ask)
  t.equal(await status(id), 404)
  const body = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' }
  const batch = created(await key.ask('POST', '/v1/batches', body))
  const result = await eventually(async () => {
    const { body } = await key.ask('GET', `/v1/batches/${batch}`)
    return body.output_file_id ?? body.error_file_id ?? undefined
  })
  t.equal(await status(String(result)), 404, 'the results belong to the member of the batch')
  t.equal((await owner.key.ask('GET', `/v1/files/${result}`)).status, 200)
  await account.ask('PATCH', `/api/keys/${key.id}`, { member: 'mia' })
  t.same([await status(id), await status(String(result))], [200, 200], 'they pass with the key')
  t.equal((await other.key.ask('GET', `/v1/files/${id}`)).status, 404)
}

/** All send the same request with the same Idempotency-Key. */
const checkRepeats = async (t: Test, { account, accountKey, people, makeKey, inSession }: Team) => {
  const { make } = files
  const { member, other, owner, admin } = people
  const own = await make(other.key.repeat)
  t.equal(await make(other.key.repeat), own)
  t.equal(await make((await makeKey({ member: 'max' })).repeat), own, 'with another key of his')
  t.equal(await make(inSession(other.client, REPEATED)), own, 'in a session of his')
  const foreign = await make(member.key.repeat)
  t.not(foreign, own, 'a member does not get the answer of another')
  t.equal(await make(inSession(member.client, REPEATED)), foreign)
  const shared = await make(accountKey.repeat)
  t.notOk([own, foreign].includes(shared), 'nor does the account')
  for (const repeat of [owner.key.repeat, admin.key.repeat, inSession(account, REPEATED)])
    t.equal(await make(repeat), shared, 'those who see all of the team share one')
}

/** The playground calls with the session of its member. */
const checkPlayground = async (t: Test, { operate, invite, people, inSession }: Team) => {
  const chat = (client: ConsoleClient) =>
    inSession(client)('POST', '/v1/chat/completions', {
      ...MODEL,
      messages: [{ role: 'user', content: 'Hi' }],
    })
  const { client } = await invite('pat', 'member')
  t.equal((await chat(client)).status, 200)
  const cap = { name: 'seat', amount: '0.01', per: 'day' }
  t.equal((await operate('budgets/set', { account: 'acme', member: 'pat', ...cap })).status, 200)
  // Each process reads budgets twice a second; until then the calls are charged to the budget.
  const refused = await eventually(async () => {
    const reply = await chat(client)
    return reply.status === 200 ? undefined : reply
  })
  t.equal(refused.status, 429, 'the budget of the member bounds them')
  t.equal((await chat(people.other.client)).status, 200, 'other members go on')
}

for (const engine of ENGINES)
  t.test(`objects of a team on ${engine}`, async t => {
    const team = await startTeam(t, engine)
    for (const [name, kind] of Object.entries(KINDS))
      await t.test(`${name}: each role lists, reads, uses and deletes those that it sees`, t =>
        checkKind(t, kind, team),
      )
    await t.test('files: sessions, results of batches, a key that moves', t => checkMoves(t, team))
    await t.test('Idempotency-Key: a member has its own', t => checkRepeats(t, team))
    await t.test('playground: the budget of the member bounds its calls', t =>
      checkPlayground(t, team),
    )
  })
