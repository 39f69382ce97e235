/** Credentials of an upstream are hidden in its answers: whole, in part, encoded, in pieces. */
import t from 'tap'
import type { Fault, Filter, Out } from '../../../engine/plugin.ts'
import { FilteredReply } from '../../../engine/response/filters.ts'
import { CredentialMask, hideCredentials } from '../../../engine/upstream/credential-mask.ts'
import fc from '../../helpers/property.ts'

const SECRET = 'sk-proj-4fQ7zL0aWm9RkT2v/Xc8+Yd5NbH3gJpEuSi1oVtq6'
const mask = new CredentialMask([SECRET])
/** The longest text that both have. */
const longestCommon = (one: string, other: string): number => {
  let longest = 0
  for (let at = 0; at < one.length; at++)
    while (other.includes(one.slice(at, at + longest + 1)) && at + longest < one.length) longest++
  return longest
}

t.test('credential mask: every part of 12 characters is hidden, other text stays', t => {
  const words = fc.string({ unit: fc.constantFrom(...'abc {}":,.\''), maxLength: 30 })
  const part = fc
    .tuple(fc.nat(SECRET.length - 12), fc.integer({ min: 12, max: SECRET.length }))
    .map(([from, length]) => SECRET.slice(from, from + length))
  fc.assert(
    fc.property(words, part, words, (before, secret, after) => {
      const text = before + secret + after
      const masked = mask.hideInText(text)
      t.equal(masked.length, text.length)
      if (longestCommon(masked, SECRET) >= 12) return false
      return masked.startsWith(before.slice(0, -1)) && masked.endsWith(after.slice(1))
    }),
  )
  t.end()
})

const FORMS: Readonly<Record<string, (secret: string) => string>> = {
  base64: secret => Buffer.from(secret).toString('base64'),
  'base64 behind a user name': secret => Buffer.from(`me:${secret}`).toString('base64'),
  'base64 behind another user name': secret => Buffer.from(`user:${secret}`).toString('base64'),
  base64url: secret => Buffer.from(`x${secret}`).toString('base64url'),
  'URL-encoded': encodeURIComponent,
  hexadecimal: secret => Buffer.from(secret).toString('hex'),
  'each byte URL-encoded': secret =>
    [...secret].map(char => `%${char.charCodeAt(0).toString(16).toUpperCase()}`).join(''),
}
for (const [name, form] of Object.entries(FORMS))
  t.test(`credential mask: a secret in the form ${name} is hidden`, async t => {
    const text = form(SECRET)
    const masked = mask.hideInText(`Basic ${text}, that is all`)
    t.ok(longestCommon(masked, text) < 12, masked)
    t.match(masked, /^Basic .*\*{30,}.*, that is all$/)
  })

t.test('credential mask: headers of a successful answer lose every form and part', async t => {
  const others = Array.from({ length: 20 }, (_, at) => `other-key-${at}-${'x'.repeat(30)}`)
  const many = new CredentialMask([...others, SECRET, 'tiny-key'])
  for (const [name, form] of Object.entries({ ...FORMS, plain: (secret: string) => secret })) {
    const whole = form(SECRET)
    for (const text of [whole, whole.slice(8, 22), whole.slice(17, 31), whole.slice(-18, -4)])
      for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'abcdef']) {
        const headers = { 'x-debug': `${before} ${text}`, 'x-list': [`${before}, ${text}`] }
        const reply = new FilteredReply(200, headers, undefined)
        hideCredentials(reply, many, false)
        const values = [headers['x-debug'], ...headers['x-list']]
        const visible = values.filter(value => longestCommon(value, text) >= 12)
        t.same(visible, [], `${name}: ${before} ${text}`)
      }
  }
  const headers = { 'x-debug': 'Basic tiny-key', etag: '"tiny-ke, other-key"' }
  hideCredentials(new FilteredReply(200, headers, undefined), many, false)
  t.same(headers, { 'x-debug': 'Basic ********', etag: '"tiny-ke, other-key"' })
})

t.test('credential mask: a text that begins like a secret stays', async t => {
  const text = 'Keys begin with sk-proj- and have 51 characters.'
  t.equal(mask.hideInText(text), text)
  t.equal(new CredentialMask(['k', 'short']).isEmpty, true)
  t.equal(new CredentialMask(['12345678']).hideInText('a 12345678 b'), 'a ******** b')
})

const readReply = async (reply: FilteredReply): Promise<string> =>
  Buffer.from(await reply.bytes(10_000_000)).toString()
async function* chunksOf(text: string, size: number) {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size))
}

t.test('credential mask: an error is searched across its chunks, of any size', async t => {
  const text = JSON.stringify({ error: { message: `wrong key ${SECRET}`, at: 'ü' } })
  for (const size of [1, 7, 40, 1_000]) {
    const headers = {
      'x-debug': `Bearer ${SECRET}`,
      'x-list': [SECRET, 'b'],
      'content-length': '9',
    }
    const reply = new FilteredReply(400, headers, chunksOf(text, size))
    hideCredentials(reply, mask, true)
    t.equal(await readReply(reply), text.replace(SECRET, '*'.repeat(SECRET.length)))
    t.same(headers['x-debug'], `Bearer ${'*'.repeat(SECRET.length)}`)
    t.same(headers['x-list'], ['*'.repeat(SECRET.length), 'b'])
  }
})

t.test('credential mask: a large error passes in parts', async t => {
  const filler = 'x'.repeat(1_500_000)
  const reply = new FilteredReply(500, {}, chunksOf(`${filler}${SECRET}${filler}`, 65_536))
  hideCredentials(reply, mask, true)
  const text = await readReply(reply)
  t.equal(text.length, 2 * filler.length + SECRET.length)
})

t.test(
  'credential mask: a body that passes hides the whole secret, and parts in errors',
  async t => {
    const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
    const base64 = Buffer.from(SECRET).toString('base64')
    const cases = [
      [event({ choices: [{ delta: { content: SECRET } }] }), SECRET],
      [event({ error: { message: `no ${SECRET.slice(0, 20)}…` } }), SECRET.slice(0, 20)],
      [event({ type: 'error', error: { message: base64 } }), base64.slice(0, 60)],
      [event({ type: 'server_error', message: SECRET.slice(0, 20) }), SECRET.slice(0, 20)],
      [event({ code: 'KeyError', message: SECRET.slice(0, 20) }), SECRET.slice(0, 20)],
      [event({ errors: [{ message: SECRET.slice(0, 20) }] }), SECRET.slice(0, 20)],
      [event({ error_code: 110, error_msg: SECRET.slice(0, 20) }), SECRET.slice(0, 20)],
      [event({ errorMessage: SECRET.slice(0, 20) }), SECRET.slice(0, 20)],
      [`event:error\n${event({ message: SECRET.slice(0, 20) })}`, SECRET.slice(0, 20)],
      // The same in more bytes, also if nothing is between the words.
      [event({ p: 'x'.repeat(4_000), code: 'keyerror', m: base64 }), base64.slice(0, 60)],
      [event({ p: 'x'.repeat(4_000), error: { message: base64 } }), base64.slice(0, 60)],
      [event({ p: 'x'.repeat(4_000), code: 'a_error', m: base64 }), base64.slice(0, 60)],
      [event({ p: 'x'.repeat(4_000), code: 'KeyError', m: base64 }), base64.slice(0, 60)],
    ] as const
    for (const [text, secret] of cases) {
      const reply = new FilteredReply(200, {}, chunksOf(text, 10_000))
      hideCredentials(reply, mask, false)
      const passed = await readReply(reply)
      t.ok(longestCommon(passed, secret) < 12, passed)
      t.equal(passed.length, text.length)
    }
    // Members in which upstreams report an error in an answer with status 200.
    const part = SECRET.slice(0, 20)
    const reports = [
      { base_resp: { status_code: 1004, status_msg: `login fail: ${part}` } },
      { err_code: 'AuthFailed', status: part },
      { errCode: 7, text: part },
      { errmsg: `no ${part}` },
      { code: 401, message: `no ${part}` },
      { code: 401, Message: part },
      { state: 'failed', fail_reason: `no ${part}` },
      { status: 'FAILURE', failReason: part },
      { failure: `no ${part}` },
      { detail: `no ${part}` },
      { detail: base64.slice(8, 40) },
      { choices: [{ message: { content: `no ${part}` } }] },
    ]
    for (const report of reports)
      for (const space of [0, 1]) {
        const text = JSON.stringify(report, undefined, space)
        const reply = new FilteredReply(200, {}, chunksOf(text, 1_000))
        hideCredentials(reply, mask, false)
        const passed = await readReply(reply)
        t.ok(longestCommon(passed, SECRET) < 12 && longestCommon(passed, base64) < 12, passed)
        t.equal(passed.length, text.length)
      }
    for (const size of [1, 5, 9, 33]) {
      const text = event({ choices: [{ delta: { content: `my key is ${SECRET}, is it?` } }] })
      const reply = new FilteredReply(200, {}, chunksOf(text + text, size))
      hideCredentials(reply, mask, false)
      t.equal(await readReply(reply), (text + text).replaceAll(SECRET, '*'.repeat(SECRET.length)))
    }
    const open = new FilteredReply(200, {}, chunksOf(`it ends ${SECRET.slice(0, 11)}`, 4))
    hideCredentials(open, mask, false)
    t.equal(await readReply(open), `it ends ${SECRET.slice(0, 11)}`)
    const plain = event({ error: null, message: 'sk-proj- is a prefix' })
    const reply = new FilteredReply(200, {}, Buffer.from(plain))
    hideCredentials(reply, mask, false)
    t.equal(await readReply(reply), plain)
  },
)

t.test('credential mask: empty members of a success report no error', async t => {
  const part = SECRET.slice(0, 20)
  // Bodies of up to 1 KiB are searched in any case.
  const MORE = '.'.repeat(2_000)
  const empty = ['null', 'false', '0', '""', '[]', '[ ]', '{}', ' {\n}']
  const errors = ['1', '0.5', 'true', '"0"', '" "', '[{}]', '{"a":1}', '-1']
  const names = ['error', 'errors', 'error_code', 'error_msg', 'errorMessage']
  const textsOf = (values: readonly string[]) =>
    values.flatMap(value =>
      names.map(name => `{"${name}": ${value}, "text":"${part}", "more":"${MORE}"}`),
    )
  const pass = (text: string, size: number) => {
    const reply = new FilteredReply(200, {}, chunksOf(text, size))
    hideCredentials(reply, mask, false)
    return readReply(reply)
  }
  for (const text of textsOf(empty)) t.equal(await pass(text, 4_000), text)
  for (const text of textsOf(errors))
    for (const size of [1, 9, 1_000])
      t.equal(await pass(text, size), text.replace(part, '*'.repeat(20)))
})

t.test('credential mask: what waits is passed on if the body fails', async t => {
  const CUT: Fault = { code: 'CUT', message: 'cut', status: 502, expose: true }
  const passed = (filter: Filter, ...chunks: string[]): string => {
    const parts: string[] = []
    const out: Out = {
      write: chunk => void parts.push(String(Buffer.from(chunk))),
      end: tail => void parts.push(`${tail ? Buffer.from(tail) : ''} end`),
      fail: ({ code }) => void parts.push(` ${code}`),
    }
    for (const chunk of chunks) filter.write?.(Buffer.from(chunk), out)
    filter.fail?.(CUT, out)
    return parts.join('')
  }
  const start = SECRET.slice(0, 11)
  t.equal(passed(mask.passing(false), `it ends ${start}`), `it ends ${start} CUT`)
  t.equal(passed(mask.passing(false), 'it ends.'), 'it ends. CUT')
  t.equal(passed(mask.whole(), `wrong ${SECRET}`), `wrong ${'*'.repeat(SECRET.length)} CUT`)
  t.equal(passed(mask.whole()), ' CUT')
  const empty = new FilteredReply(400, { 'x-debug': SECRET }, Buffer.from(SECRET))
  hideCredentials(empty, new CredentialMask(['short']), true)
  t.equal(await readReply(empty), SECRET, 'a short text is not a secret')
})

const escaped = (secret: string): string =>
  [...secret].map(char => `\\u00${char.charCodeAt(0).toString(16)}`).join('')
for (const [name, form] of Object.entries({ ...FORMS, 'JSON-escaped': escaped }))
  t.test(`credential mask: an error that comes in pieces hides the form ${name}`, async t => {
    const secret = form(SECRET)
    const bodies = [
      [`data: {"n":1}\n\ndata: {"message":"${secret}","type":"error"}\n\n`, 'text/event-stream'],
      [`data: {"error":{"message":"${secret}"}}\r\n\r\n: end\r\n\r\n`, 'text/event-stream'],
      [`data: {"error":"${'x'.repeat(100_000)}${secret}"}\n\n`, 'text/event-stream; charset=utf-8'],
      [`{"ok":true,"error":{"message":"${secret}"}}`, 'application/json'],
      [`{"error_code":1,"error_msg":"${secret}"}`, 'application/json'],
      [`id:1\nevent:error\ndata:{"message":"${secret}"}\n\n`, 'text/event-stream'],
    ] as const
    for (const size of [1, 7, 70_000])
      for (const [text, type] of bodies) {
        if (size < 50_000 && text.length > 10_000) continue
        const reply = new FilteredReply(200, { 'content-type': type }, chunksOf(text, size))
        hideCredentials(reply, mask, false)
        const masked = await readReply(reply)
        t.equal(masked.length, text.length)
        t.ok(longestCommon(masked.slice(-2_000), secret) < 12, masked.slice(-500))
      }
  })
t.test('credential mask: whole events pass at once, the rest with the next chunk', async t => {
  const parts: string[] = []
  const out: Out = {
    write: chunk => void parts.push(String(Buffer.from(chunk))),
    end: tail => void parts.push(`${tail ? Buffer.from(tail) : ''} end`),
    fail() {},
  }
  const filter = mask.passing(true)
  filter.write?.(Buffer.from('data: 1\n\ndata: '), out)
  t.same(parts, ['data: 1\n\n'])
  filter.write?.(Buffer.from('2\n\n'), out)
  t.same(parts, ['data: 1\n\n', 'data: 2\n\n'])
  filter.end?.(undefined, out)
  t.equal(parts.at(-1), ' end')
})
