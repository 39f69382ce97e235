/** The file endpoints over real stores: upload, list, show, delete, content, quotas, expiry. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import t from 'tap'
import type { HostBase, ReportProgress } from '../../../engine/plugin.ts'
import { signedUrl } from '../../../plugins/file-store/signed-url.ts'
import { commands } from '../../../plugins/files/commands.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { rawClient, replies } from '../../helpers/gateway/raw-client.ts'
import { ENGINES, statement } from '../../helpers/store/store.ts'
import { BATCH, LINES, startFiles } from './files-gateway.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n0123456789', 'latin1')
const DAY = 86_400

/** Runs `tollgate files VERB …`. */
const runCommand = (verb: string, host: HostBase, folder?: string, report?: ReportProgress) => {
  const group = commands.files
  const command = group && 'subcommands' in group ? group.subcommands[verb] : undefined
  const positionals = folder === undefined ? [] : [folder]
  return command?.run({ values: {}, positionals, ...(report && { report }) }, host)
}

for (const engine of ENGINES)
  t.test(`files on ${engine}: are uploaded, listed, shown, downloaded and deleted`, async t => {
    const gateway = await startFiles(t, {}, engine)
    const before = Math.floor(Date.now() / 1_000)
    const { status, json } = await gateway.upload(BATCH)
    t.equal(status, 200)
    t.match(json, {
      id: /^file-[0-9a-f]{32}$/,
      object: 'file',
      bytes: LINES.length,
      filename: 'b.jsonl',
      purpose: 'batch',
      status: 'processed',
      status_details: null,
    })
    t.ok(Number(json.created_at) >= before)
    t.equal(Number(json.expires_at) - Number(json.created_at), 30 * DAY)
    const path = `/v1/files/${json.id}`
    t.same((await gateway.json('GET', path)).json, json)
    const content = await gateway.call('GET', `${path}/content`)
    t.equal(await content.text(), LINES)
    t.match(Object.fromEntries(content.headers), {
      'content-type': 'application/jsonl',
      'content-length': String(LINES.length),
      'content-disposition': 'attachment; filename="b.jsonl"',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      etag: `"${createHash('sha256').update(LINES).digest('hex')}"`,
    })
    t.match((await gateway.json('GET', '/v1/files')).json, {
      object: 'list',
      data: [json],
      first_id: json.id,
      last_id: json.id,
      has_more: false,
    })
    t.same((await gateway.json('DELETE', path)).json, {
      id: json.id,
      object: 'file',
      deleted: true,
    })
    t.same(gateway.stored(), [])
    const error = { type: 'invalid_request_error', param: 'id', code: null }
    for (const method of ['GET', 'DELETE']) {
      const unknown = await gateway.json(method, path)
      t.equal(unknown.status, 404)
      t.match(unknown.json, { error })
      t.match(
        String((unknown.json.error as { message: string }).message),
        `No such File object: ${json.id}`,
      )
    }
    const [usage] = await gateway.rows('SELECT files, bytes FROM file_usage')
    t.match(usage, { files: 0, bytes: 0 })
  })

const field = (name: string, value: string): string =>
  `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string): string =>
  `--b\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n\r\n`
const END = '\r\n--b--\r\n'
/** A connection that has sent the head of an upload of this length. */
const beginUpload = async ({ url }: { readonly url: string }, length: number) => {
  const connection = await rawClient({ port: Number(new URL(url).port) })
  const head = 'POST /v1/files HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b'
  await connection.send(`${head}\r\ncontent-length: ${length}\r\n\r\n`)
  return connection
}

t.test('files: the memory of an upload is free once its bytes are written', async t => {
  const gateway = await startFiles(t)
  const start = field('purpose', 'assistants') + file('a.txt')
  const part = Buffer.alloc(64 * 1024, 'a')
  const parts = 1_024
  const length = start.length + part.length * parts + END.length
  const connection = await beginUpload(gateway, length)
  await connection.send(start)
  const before = process.memoryUsage().arrayBuffers
  let highest = 0
  for (let count = 0; count < parts; count++) {
    await connection.send(part)
    highest = Math.max(highest, process.memoryUsage().arrayBuffers - before)
  }
  await connection.send(END)
  await connection.until('status_details')
  connection.close()
  t.ok(highest < 12 * 2 ** 20, `${(highest / 2 ** 20).toFixed(1)} MiB`)
})

t.test('files: a slow client may take longer than a stage', async t => {
  const gateway = await startFiles(t, {}, 'sqlite', { stage: '2s' })
  const body = `${field('purpose', 'batch')}${file('b.jsonl')}{"a":1}${END}`
  const connection = await beginUpload(gateway, body.length)
  const size = Math.ceil(body.length / 10)
  for (let from = 0; from < body.length; from += size) {
    await new Promise(resolve => setTimeout(resolve, 300))
    await connection.send(body.slice(from, from + size))
  }
  await connection.until('status_details')
  t.equal(replies(connection.text())[0]?.status, 200)
  connection.close()
})

t.test('files: belong to their account', async t => {
  const gateway = await startFiles(t)
  const { json } = await gateway.upload(BATCH)
  for (const [method, path] of [
    ['GET', `/v1/files/${json.id}`],
    ['GET', `/v1/files/${json.id}/content`],
    ['DELETE', `/v1/files/${json.id}`],
    ['GET', '/v1/files/x'],
  ] as const)
    t.equal((await gateway.json(method, path, {}, '2')).status, 404, `${method} ${path}`)
  t.same((await gateway.json('GET', '/v1/files', {}, '2')).json.data, [])
  t.equal((await gateway.json('GET', `/v1/files/${json.id}`)).status, 200)
})

t.test(
  'files: uploads with mistakes are refused with their exact error and leave nothing',
  async t => {
    const gateway = await startFiles(t, { sizes: { vision: '18B', batch: '20B' } })
    const purposes = "['assistants', 'fine-tune', 'vision', 'batch']"
    const cases: readonly (readonly [
      name: string,
      fields: Parameters<typeof gateway.upload>[0],
      error: readonly [
        status: number,
        message: string | RegExp,
        param: string | null,
        code?: string,
      ],
    ])[] = [
      [
        'no purpose',
        { file: ['a.txt', 'x'] },
        [400, "'purpose' is a required property", 'purpose'],
      ],
      ['no file', { purpose: 'batch' }, [400, "'file' is a required property", 'file']],
      [
        'another purpose',
        { ...BATCH, purpose: 'answers' },
        [400, `'answers' is not one of ${purposes} - 'purpose'`, 'purpose'],
      ],
      [
        'an extension of no purpose, for a request',
        { purpose: 'user_data', file: ['a.exe', 'x'] },
        [400, /^Files with extensions \[\.exe\] are not supported for user data\./, 'file'],
      ],
      [
        'batch output',
        { ...BATCH, purpose: 'batch_output' },
        [400, `'batch_output' is not one of ${purposes} - 'purpose'`, 'purpose'],
      ],
      [
        'a text as file',
        { purpose: 'batch', file: 'text' },
        [400, "'file' must be a file with a file name.", 'file'],
      ],
      [
        'a second file',
        { purpose: 'batch', file: ['b.jsonl', '{}'], other: ['a.txt', 'x'] },
        [400, "'other' is a file, but only 'file' may be one.", 'other'],
      ],
      [
        'an empty file',
        { purpose: 'assistants', file: ['a.txt', ''] },
        [400, 'File is empty.', 'file'],
      ],
      [
        'text for batches',
        { purpose: 'batch', file: ['a.txt', 'x'] },
        [400, 'Invalid file format for Batch API. Must be .jsonl', 'file'],
      ],
      [
        'an image for training',
        { purpose: 'fine-tune', file: ['a.png', PNG] },
        [400, 'Invalid file format for Fine-Tuning API. Must be .jsonl', 'file'],
      ],
      [
        'an unknown extension',
        { purpose: 'assistants', file: ['a.exe', 'x'] },
        [
          400,
          /^Files with extensions \[\.exe\] are not supported for retrieval\. Supported extensions: \[\.pdf, /,
          'file',
        ],
      ],
      [
        'no extension',
        { purpose: 'assistants', file: ['a', 'x'] },
        [400, /^Files with extensions \[\] are not supported/, 'file'],
      ],
      [
        'text for vision, named behind the file',
        { file: ['a.txt', 'x'], purpose: 'vision' },
        [
          400,
          /^Files with extensions \[\.txt\] are not supported for vision\. Supported extensions: \[\.png, \.jpg, \.jpeg, \.webp\]\./,
          'file',
        ],
      ],
      [
        'text as image',
        { purpose: 'vision', file: ['a.png', 'hello, world'] },
        [
          400,
          'The content of the file is not an image of the type [.png].',
          'file',
          'invalid_image',
        ],
      ],
      [
        'a short image',
        { purpose: 'vision', file: ['a.webp', 'RIFF'] },
        [
          400,
          'The content of the file is not an image of the type [.webp].',
          'file',
          'invalid_image',
        ],
      ],
      [
        'a broken line',
        { purpose: 'fine-tune', file: ['a.jsonl', '{}\n[1]\n'] },
        [
          400,
          /^Expected file to have JSONL format, where every line is a valid JSON dictionary. Line 2 is not a dictionary\./,
          'file',
          'invalid_jsonl',
        ],
      ],
      [
        'one byte too many',
        { purpose: 'vision', file: ['a.png', Buffer.concat([PNG, Buffer.from('x')])] },
        [413, 'File is too large. The limit is 18 bytes.', 'file', 'file_too_large'],
      ],
      [
        'one byte too many, purpose behind the file',
        { file: ['a.png', Buffer.concat([PNG, Buffer.from('x')])], purpose: 'vision' },
        [413, 'File is too large. The limit is 18 bytes.', 'file', 'file_too_large'],
      ],
      [
        'no seconds',
        { ...BATCH, file: ['b.jsonl', '{}'], 'expires_after[anchor]': 'created_at' },
        [
          400,
          "Missing required parameter: 'expires_after[seconds]'.",
          'expires_after[seconds]',
          'missing_required_parameter',
        ],
      ],
      [
        'no anchor',
        { ...BATCH, file: ['b.jsonl', '{}'], 'expires_after[seconds]': '3600' },
        [
          400,
          "Missing required parameter: 'expires_after[anchor]'.",
          'expires_after[anchor]',
          'missing_required_parameter',
        ],
      ],
      [
        'another anchor',
        { 'expires_after[anchor]': 'now', ...BATCH },
        [
          400,
          "Invalid value: 'now'. Supported values are: 'created_at'.",
          'expires_after[anchor]',
          'invalid_value',
        ],
      ],
      [
        'too few seconds',
        { 'expires_after[seconds]': '3599', ...BATCH },
        [
          400,
          "Invalid 'expires_after[seconds]': integer below minimum value. Expected a value >= 3600, but got 3599 instead.",
          'expires_after[seconds]',
          'integer_below_min_value',
        ],
      ],
      [
        'too many seconds',
        { 'expires_after[seconds]': '2592001', ...BATCH },
        [
          400,
          "Invalid 'expires_after[seconds]': integer above maximum value. Expected a value <= 2592000, but got 2592001 instead.",
          'expires_after[seconds]',
          'integer_above_max_value',
        ],
      ],
      [
        'seconds as text',
        { 'expires_after[seconds]': '1e4', ...BATCH },
        [
          400,
          "Invalid type for 'expires_after[seconds]': expected an integer, but got '1e4' instead.",
          'expires_after[seconds]',
          'invalid_type',
        ],
      ],
      [
        'a long field',
        { other: 'x'.repeat(5_000), ...BATCH },
        [400, "'other' is longer than 4096 bytes.", 'other'],
      ],
    ]
    for (const [name, fields, [status, message, param, code = null]] of cases) {
      const answer = await gateway.upload(fields)
      t.equal(answer.status, status, name)
      const error = answer.json.error as { message: string }
      t.match(error, { type: 'invalid_request_error', param, code }, name)
      const text = error.message.replace(/ \(request id: \S+\)$/, '')
      if (typeof message === 'string') t.equal(text, message, name)
      else t.match(text, message, name)
    }
    t.same(gateway.stored(), [])
    t.same(await gateway.rows('SELECT id FROM stored_files'), [])
    t.equal(
      (await gateway.upload({ purpose: 'vision', file: ['A.PNG', PNG] })).status,
      200,
      'the limit itself',
    )
  },
)

t.test('files: every purpose takes its extensions, and the download has their type', async t => {
  const gateway = await startFiles(t)
  const jpeg = Buffer.from('\xff\xd8\xff\xe0 a JPEG image', 'latin1')
  const webp = Buffer.from('RIFF1234WEBP and so on', 'latin1')
  const cases = [
    ['assistants', 'a.pdf', '%PDF-', 'application/pdf'],
    ['assistants', 'a.txt', 'x', 'text/plain; charset=utf-8'],
    ['assistants', 'a.csv', 'x', 'text/csv; charset=utf-8'],
    ['assistants', 'a.json', '{}', 'application/json'],
    ['fine-tune', 'a.jsonl', '{}', 'application/jsonl'],
    ['user_data', 'a.pdf', '%PDF-', 'application/pdf'],
    ['user_data', 'a.jsonl', '{}', 'application/jsonl'],
    ['user_data', 'a.webp', webp, 'image/webp'],
    ['vision', 'a.png', PNG, 'image/png'],
    ['vision', 'a.jpg', jpeg, 'image/jpeg'],
    ['vision', 'a.jpeg', jpeg, 'image/jpeg'],
    ['vision', 'a.webp', webp, 'image/webp'],
  ] as const
  for (const [purpose, filename, content, type] of cases) {
    const { status, json } = await gateway.upload({ file: [filename, content], purpose })
    t.equal(status, 200, filename)
    t.notOk('expires_at' in json, 'only batch files expire by themselves')
    const response = await gateway.call('HEAD', `/v1/files/${json.id}/content`)
    t.equal(response.headers.get('content-type'), type)
    t.equal(Number(response.headers.get('content-length')), content.length)
  }
})

t.test(
  'files: names are stored without folders, and sent so that any client reads them',
  async t => {
    const gateway = await startFiles(t)
    for (const [filename, stored, disposition] of [
      ['../../etc/a.txt', 'a.txt', 'attachment; filename="a.txt"'],
      ['C:\\x\\a.txt', 'a.txt', 'attachment; filename="a.txt"'],
      [
        'a "b".txt',
        'a "b".txt',
        `attachment; filename="a _b_.txt"; filename*=UTF-8''a%20%22b%22.txt`,
      ],
      ['€.txt', '€.txt', `attachment; filename="_.txt"; filename*=UTF-8''%E2%82%AC.txt`],
    ] as const) {
      const { json } = await gateway.upload({ purpose: 'assistants', file: [filename, 'x'] })
      t.equal(json.filename, stored)
      const { headers } = await gateway.call('GET', `/v1/files/${json.id}/content`)
      t.equal(headers.get('content-disposition'), disposition)
    }
  },
)

t.test('files: are listed in pages, by order and purpose', async t => {
  const gateway = await startFiles(t)
  const ids: string[] = []
  for (let index = 0; index < 5; index++)
    ids.push(
      String(
        (
          await gateway.upload(
            index === 2 ? { purpose: 'assistants', file: ['a.txt', 'x'] } : BATCH,
          )
        ).json.id,
      ),
    )
  const list = async (query: string) => (await gateway.json('GET', `/v1/files?${query}`)).json
  const idsOf = (page: { readonly data?: unknown }) =>
    (page.data as { id: string }[]).map(({ id }) => id)
  const newest = idsOf(await list(''))
  t.same(newest.toSorted(), ids.toSorted())
  const first = await list('limit=2')
  t.match(first, { first_id: newest[0], last_id: newest[1], has_more: true })
  const second = await list(`limit=2&after=${first.last_id}`)
  t.same(idsOf(second), newest.slice(2, 4))
  t.match(await list(`limit=2&after=${second.last_id}`), {
    data: [{ id: newest[4] }],
    has_more: false,
  })
  t.same(idsOf(await list('order=asc')), newest.toReversed())
  t.same(idsOf(await list(`order=asc&after=${newest[1]}`)), [newest[0]])
  t.same(idsOf(await list('purpose=assistants')), [ids[2]])
  t.same(await list('purpose=batch_output'), {
    object: 'list',
    data: [],
    first_id: null,
    last_id: null,
    has_more: false,
  })
  for (const [query, param, code, message] of [
    ['limit=0', 'limit', 'integer_below_min_value', /Expected a value >= 1, but got 0 instead/],
    ['limit=10001', 'limit', 'integer_above_max_value', /Expected a value <= 10000, but got 10001/],
    ['limit=x', 'limit', 'invalid_type', /expected an integer/],
    ['order=up', 'order', 'invalid_value', /Supported values are: 'asc' and 'desc'/],
    ['purpose=x', 'purpose', null, /Invalid purpose: x. Must be one of: \(assistants, fine-tune/],
    ['after=file-0', 'id', null, /No such File object: file-0/],
  ] as const)
    t.match(
      await list(query),
      { error: { param, code, message, type: 'invalid_request_error' } },
      query,
    )
})

t.test('files: ranges of the content', async t => {
  const gateway = await startFiles(t)
  const { json } = await gateway.upload({ purpose: 'assistants', file: ['a.txt', '0123456789'] })
  const get = async (headers: Readonly<Record<string, string>>, method = 'GET') => {
    const response = await gateway.call(method, `/v1/files/${json.id}/content`, { headers })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }
  const etag = (await get({})).headers.get('etag') ?? ''
  for (const [range, text, place] of [
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=7-99', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-99', '0123456789', 'bytes 0-9/10'],
  ] as const) {
    const response = await get({ range })
    t.match(response, { status: 206, text }, range)
    t.equal(response.headers.get('content-range'), place)
    t.equal(response.headers.get('content-length'), String(text.length))
  }
  for (const range of ['bytes=10-', 'bytes=-0']) {
    const response = await get({ range })
    t.equal(response.status, 416, range)
    t.equal(response.headers.get('content-range'), 'bytes */10')
  }
  for (const range of ['bytes=0-1,4-5', 'bytes=4-2', 'bytes=-', 'lines=0-1'])
    t.match(await get({ range }), { status: 200, text: '0123456789' }, range)
  t.match(await get({ range: 'bytes=0-1', 'if-range': etag }), { status: 206, text: '01' })
  t.match(await get({ range: 'bytes=0-1', 'if-range': '"x"' }), { status: 200 })
  t.match(await get({ 'if-none-match': etag }), { status: 304, text: '' })
  const head = await get({ range: 'bytes=2-4' }, 'HEAD')
  t.match(head, { status: 206, text: '' })
  t.equal(head.headers.get('content-length'), '3')
})

t.test('files: quotas of an account count at once, and are free again after a delete', async t => {
  const gateway = await startFiles(t, { quota: { files: 3, bytes: '100B' } })
  const file = (size: number) => ({
    purpose: 'assistants',
    file: ['a.txt', 'x'.repeat(size)] as const,
  })
  const answers = await Promise.all(Array.from({ length: 6 }, () => gateway.upload(file(30))))
  t.same(answers.map(({ status }) => status).toSorted(), [200, 200, 200, 403, 403, 403])
  const refused = answers.find(({ status }) => status === 403)
  t.match(refused?.json, {
    error: {
      code: 'file_quota_exceeded',
      message: /^This account may store 3 files and 100 bytes\. Delete files/,
    },
  })
  await eventually(() => gateway.stored().length === 3 || undefined)
  t.pass('a refused file leaves nothing')
  t.equal((await gateway.upload(file(30), '2')).status, 200, 'other accounts are free')
  const id = answers.find(({ status }) => status === 200)?.json.id
  await gateway.json('DELETE', `/v1/files/${id}`)
  t.equal((await gateway.upload(file(41))).status, 403)
  t.equal((await gateway.upload(file(40))).status, 200)
})

t.test('files: a full disk refuses uploads', async t => {
  const gateway = await startFiles(t, { free: 100 })
  const { status, json } = await gateway.upload(BATCH)
  t.equal(status, 503)
  t.match(json, { error: { code: 'service_unavailable', message: /The file storage is full/ } })
  t.same(gateway.stored(), [])
})

t.test('files: one that has expired is not there, and is removed', async t => {
  const gateway = await startFiles(t)
  const expiry = { 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3600' }
  const { json } = await gateway.upload({ ...BATCH, ...expiry })
  t.equal(Number(json.expires_at) - Number(json.created_at), 3_600)
  const remaining = await gateway.upload(BATCH)
  await gateway.database.write([
    statement('past', 'UPDATE stored_files SET expires = 1 WHERE id = ?', [String(json.id)]),
  ])
  t.equal((await gateway.json('GET', `/v1/files/${json.id}`)).status, 404)
  t.match((await gateway.json('GET', '/v1/files')).json, {
    data: [{ id: remaining.json.id }],
    has_more: false,
  })
  await gateway.runJob('expired files')
  t.equal(gateway.stored().length, 1)
  t.match(await gateway.rows('SELECT files, bytes FROM file_usage'), [
    { files: 1, bytes: LINES.length },
  ])
})

t.test('files: `tollgate files` lists files, and removes what belongs to none', async t => {
  const gateway = await startFiles(t)
  const { json } = await gateway.upload(BATCH)
  const [path = ''] = gateway.stored()
  const orphan = `${path.slice(0, -34)}${'0'.repeat(30)}${path.slice(-2)}`
  const partial = `${dirname(dirname(path))}/incoming/${json.id}.x`
  const recent = `${partial}y`
  for (const each of [orphan, partial, recent]) writeFileSync(each, 'orphan')
  for (const each of [path, orphan, partial]) utimesSync(each, 1, 1)
  const run = (verb: string) => runCommand(verb, gateway.host())
  t.match(await run('list'), { rows: [{ id: json.id, account: 1, filename: 'b.jsonl' }] })
  t.match(await run('gc'), { rows: [{ unfinished: 1, orphans: 1, bytes: 6 }] })
  t.same(gateway.stored().toSorted(), [path, recent].toSorted())
  t.match(await run('gc'), { rows: [{ unfinished: 0, orphans: 0, bytes: 0 }] })
  writeFileSync(orphan, 'orphan')
  utimesSync(orphan, 1, 1)
  await gateway.runJob('orphaned files')
  t.same(gateway.stored().toSorted(), [path, recent].toSorted())
})

t.test('files: `tollgate files backup` copies and verifies what was not copied before', async t => {
  const gateway = await startFiles(t)
  const ids: string[] = []
  for (const content of ['a', 'bb', 'ccc']) {
    const { json } = await gateway.upload({ purpose: 'assistants', file: ['a.txt', content] })
    ids.push(String(json.id))
  }
  const folder = `${t.testdir({})}/copy`
  const run = () => runCommand('backup', gateway.host(), folder)
  t.match(await run(), { rows: [{ copied: 3, present: 0, damaged: 0, bytes: 6 }] })
  t.match(await run(), { rows: [{ copied: 0, present: 3, damaged: 0, bytes: 0 }] })
  const [first = '', second = '', third = ''] = ids
  const copyOf = (id: string): string => `${folder}/${id.slice(-2)}/${id}`
  t.equal(readFileSync(copyOf(third), 'utf8'), 'ccc')
  const pathOf = (id: string): string => gateway.stored().find(path => path.endsWith(id)) ?? ''
  for (const id of [first, second]) rmSync(copyOf(id))
  rmSync(pathOf(first))
  writeFileSync(pathOf(second), 'xx')
  const damaged = await run()
  t.match(damaged, { rows: [{ copied: 0, present: 1, damaged: 2 }], exit: 1 })
  for (const id of [first, second]) t.match(JSON.stringify(damaged), id)
  t.notOk(existsSync(copyOf(second)))
  const refused = async () => runCommand('backup', gateway.host(), '/proc/no/folder')
  await t.rejects(refused, { code: 'ENOENT' })
})

t.test('files: `tollgate files restore` puts back what is missing, and nothing else', async t => {
  const gateway = await startFiles(t)
  const ids: string[] = []
  for (const content of ['a', 'bb', 'ccc', 'dddd']) {
    const { json } = await gateway.upload({ purpose: 'assistants', file: ['a.txt', content] })
    ids.push(String(json.id))
  }
  const folder = `${t.testdir({})}/copy`
  await runCommand('backup', gateway.host(), folder)
  const [missing = '', damaged = '', right = '', useless = ''] = ids
  const pathOf = (id: string): string => `${folder}/${id.slice(-2)}/${id}`
  const stored = new Map(gateway.stored().map(path => [basename(path), path]))
  const remove = (id: string) => rmSync(stored.get(id) ?? '')
  remove(missing)
  writeFileSync(stored.get(damaged) ?? '', 'xx')
  writeFileSync(pathOf(right), 'xxx')
  remove(useless)
  writeFileSync(pathOf(useless), 'xxxx')
  const lines: string[] = []
  const report: ReportProgress = (...parts) => lines.push(parts.join(' '))
  const result = await runCommand('restore', gateway.host(), folder, report)
  t.match(result, { rows: [{ copied: 2, present: 1, damaged: 1, bytes: 3 }], exit: 1 })
  t.match(result, { after: useless })
  t.same(lines, [
    'checked 1 4 files',
    'checked 2 4 files',
    'checked 3 4 files',
    'checked 4 4 files',
  ])
  const textOf = async (id: string) => (await gateway.call('GET', `/v1/files/${id}/content`)).text()
  t.same(await Promise.all([missing, damaged, right].map(textOf)), ['a', 'bb', 'ccc'])
  t.equal((await gateway.call('GET', `/v1/files/${useless}/content`)).status, 500)
})

t.test('files: bytes that are missing are an error of the operator', async t => {
  const gateway = await startFiles(t)
  const { json } = await gateway.upload(BATCH)
  const [path = ''] = gateway.stored()
  rmSync(path)
  const { status, json: body } = await gateway.json('GET', `/v1/files/${json.id}/content`)
  t.equal(status, 500)
  t.notMatch(JSON.stringify(body), /store/)
})

t.test('files: a signed URL serves its file for a day, without an account', async t => {
  const gateway = await startFiles(t)
  const { json } = await gateway.upload({ purpose: 'vision', file: ['a.png', PNG] })
  const now = Date.now()
  const file = { id: String(json.id), filename: 'a.png' }
  const url = new URL(await signedUrl(gateway.host(), file, now))
  t.match(url.pathname, /^\/files\/file-[0-9a-f]{32}\.png$/)
  t.equal(Number(url.searchParams.get('expires')), Math.floor(now / 1_000) + DAY)
  const get = (path: string, search: string) => gateway.call('GET', path + search, {}, '2')
  const response = await get(url.pathname, url.search)
  t.equal(response.status, 200)
  t.match(Object.fromEntries(response.headers), {
    'content-type': 'image/png',
    'content-disposition': 'inline; filename="a.png"',
    'x-content-type-options': 'nosniff',
  })
  t.same(Buffer.from(await response.arrayBuffer()), PNG)
  const old = new URL(await signedUrl(gateway.host(), file, now - (DAY + 1) * 1_000))
  for (const [path, search] of [
    [old.pathname, old.search],
    [url.pathname, ''],
    [url.pathname, url.search.replace(/expires=\d/, 'expires=9')],
    [url.pathname, `${url.search}x`],
    [url.pathname.replace('.png', '.html'), url.search],
  ] as const) {
    const refused = await get(path, search)
    t.equal(refused.status, 403, path + search)
    await refused.body?.cancel()
  }
  await gateway.json('DELETE', `/v1/files/${json.id}`)
  t.equal((await get(url.pathname, url.search)).status, 404)
})
