/** The form reader: whole and in chunks it reads the same, and refuses every attack. */
import t from 'tap'
import {
  boundaryOf,
  FormReader,
  partsIn,
  writeForm,
} from '../../../../plugins/formats/media/multipart.ts'
import fc from '../../../helpers/property.ts'

const part = (head: string, content = ''): string => `--b\r\n${head}\r\n\r\n${content}\r\n`
const field = (name: string, content = ''): string =>
  part(`content-disposition: form-data; name="${name}"`, content)
const END = '--b--\r\n'

interface ReadPart {
  readonly name: string
  readonly filename: string | undefined
  content: string
}
/** Reads a form in chunks; undefined if it is invalid or truncated. */
const readChunks = (body: Buffer, sizes: readonly number[], boundary = 'b') => {
  const reader = new FormReader(boundary)
  const parts: ReadPart[] = []
  const read = (chunk: Buffer): void => {
    for (const event of reader.read(chunk)) {
      if (event.kind === 'part') parts.push({ ...event.head, content: '' })
      const last = parts.at(-1)
      if (event.kind === 'content' && last)
        last.content += Buffer.from(event.bytes).toString('latin1')
    }
  }
  let from = 0
  for (let index = 0; from < body.length; index++) {
    const size = sizes[index % sizes.length] ?? 1
    read(body.subarray(from, from + size))
    from += size
  }
  return reader.state === 'complete' ? parts : undefined
}
const readWhole = (body: Buffer, boundary = 'b') =>
  partsIn(body, boundary)?.map(({ name, filename, start, end }) => ({
    name,
    filename,
    content: body.toString('latin1', start, end),
  }))
const summary = (parts: readonly ReadPart[] | undefined) =>
  parts?.map(({ name, filename, content }) => ({ name, filename, content }))

t.test('form reader: any chunks give the parts that the whole body gives', t => {
  // Fragments of delimiters are what a reader of chunks may get wrong.
  const content = fc
    .array(fc.constantFrom('\r', '\n', '\r\n', '--', '-', 'b', '\r\n--', '\r\n-', 'text', '\0'))
    .map(pieces => pieces.join(''))
  const body = fc
    .array(fc.tuple(fc.constantFrom('a', 'file', 'x[y]'), content), { maxLength: 4 })
    .map(parts => Buffer.from(parts.map(([name, text]) => field(name, text)).join('') + END))
  fc.assert(
    fc.property(
      body,
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
      (body, sizes) => {
        t.same(summary(readChunks(body, sizes)), summary(readWhole(body)))
      },
    ),
  )
  t.end()
})

t.test('form reader: reads what the writer writes, in every size of chunk', t => {
  const bytes = Buffer.from('\r\n--\r\n\r\n--tollgate')
  const { type, body } = writeForm(
    [['purpose', 'batch']],
    [{ name: 'file', file: 'a.jsonl', type: 'text/plain', bytes }],
  )
  const boundary = boundaryOf(type) ?? ''
  for (let size = 1; size <= body.length; size++)
    t.match(readChunks(Buffer.from(body), [size], boundary), [
      { name: 'purpose', filename: undefined, content: 'batch' },
      { name: 'file', filename: 'a.jsonl', content: bytes.toString() },
    ])
  t.end()
})

t.test('form reader: refuses malformed and truncated forms, whole and in chunks', t => {
  const bodies: Readonly<Record<string, string>> = {
    'no end': field('a', 'text'),
    'an end without dashes': `${field('a', 'text')}--b`,
    'a preamble': `hello\r\n${field('a')}${END}`,
    'another boundary': (field('a') + END).replaceAll('--b', '--c'),
    'a longer delimiter in the content': `${field('a', 'x\r\n--bc')}${END}`,
    'a head without an end': `--b\r\n${'x'.repeat(8_000)}`,
    'a head that is too long': `${part(`a: ${'x'.repeat(4_100)}\r\ncontent-disposition: form-data; name="a"`)}${END}`,
    'no head': `--b\r\n\r\ntext\r\n${END}`,
    'a part without a name': `${part('content-disposition: form-data')}${END}`,
    'two names': `${part('content-disposition: form-data; name="a"; name="b"')}${END}`,
    'an extended name': `${part("content-disposition: form-data; name*=utf-8''a")}${END}`,
    'a line end in a name': `${part('content-disposition: form-data; name="a\r\nx: y"')}${END}`,
    'a folded header': `${part('content-disposition: form-data;\r\n name="a"')}${END}`,
    'a repeated header': `${part('a: b\r\na: b\r\ncontent-disposition: form-data; name="a"')}${END}`,
    'a transfer encoding': `${part('content-disposition: form-data; name="a"\r\ncontent-transfer-encoding: base64')}${END}`,
    '65 parts': field('a').repeat(65) + END,
    '100,000 parts': field('a').repeat(100_000) + END,
  }
  for (const [name, text] of Object.entries(bodies)) {
    const body = Buffer.from(text)
    t.equal(readWhole(body), undefined, name)
    t.equal(readChunks(body, [65_536]), undefined, `${name}, in chunks`)
    if (body.length < 10_000) t.equal(readChunks(body, [1]), undefined, `${name}, byte by byte`)
  }
  t.equal(readWhole(Buffer.from(field('a').repeat(64) + END))?.length, 64)
  t.end()
})

t.test('form reader: a field named __proto__ is a part like any other', t => {
  const body = Buffer.from(
    part('__proto__: x\r\ncontent-disposition: form-data; name="__proto__"', 'x') + END,
  )
  t.match(readWhole(body), [{ name: '__proto__', content: 'x' }])
  t.equal(({} as { x?: string }).x, undefined)
  t.end()
})

t.test('form reader: reads file names as browsers and SDKs write them', t => {
  const named = (rest: string) =>
    readWhole(
      Buffer.from(part(`content-disposition: form-data; name="file"; ${rest}`, 'x') + END),
    )?.[0]?.filename
  t.equal(named('filename="a.png"'), 'a.png')
  t.equal(named('filename=a.png'), 'a.png')
  t.equal(named('filename="a \\"b\\".png"'), 'a "b".png')
  t.equal(named('filename="a%22b%0D%0Ac%41.png"'), 'a"b\r\nc%41.png')
  t.equal(named(`filename="a.png"; filename*=UTF-8''%E2%82%AC.png`), '€.png')
  t.equal(named("filename*=UTF-8''%ff.png"), undefined)
  t.end()
})

t.test('form reader: a boundary of 252 bytes or with a space is none', t => {
  const type = (boundary: string) => boundaryOf(`multipart/form-data; boundary="${boundary}"`)
  t.equal(type('b'.repeat(70)), 'b'.repeat(70))
  for (const boundary of ['', 'b'.repeat(71), 'b'.repeat(252), 'a b', 'a\u00e9'])
    t.equal(type(boundary), undefined, boundary)
  t.end()
})

t.test('form reader: keeps no more than a head and a delimiter of a body without an end', t => {
  const reader = new FormReader('b')
  reader.read(
    Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'),
  )
  const chunk = Buffer.from('\r\n--'.repeat(16_384))
  let length = 0
  for (let index = 0; index < 512; index++)
    for (const event of reader.read(chunk))
      if (event.kind === 'content') length += event.bytes.length
  t.ok(chunk.length * 512 - length < 10, 'all but the undecided bytes were passed on')
  t.end()
})
