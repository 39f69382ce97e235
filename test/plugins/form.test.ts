/** Plugin `form` with `inline`: files become data URLs, and the JSON stands for the form. */
import t from 'tap'
import form from '../../plugins/form.ts'
import { EXPANDED_REQUEST, FILES } from '../../plugins/slots.ts'
import { errorFrom, fakeExchange, noNext } from '../helpers/gateway/fake-exchange.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1')
const stage = form.setup({ files: ['image'], inline: 'image_url' })

type Field = readonly [name: string, value: string | File]
const exchangeOf = async (...fields: readonly Field[]) => {
  const formData = new FormData()
  for (const [name, value] of fields) formData.append(name, value)
  const encoded = new Response(formData)
  const type = String(encoded.headers.get('content-type'))
  return fakeExchange({
    body: Buffer.from(await encoded.arrayBuffer()),
    headers: { 'content-type': type },
  })
}
const parse = async (...fields: readonly Field[]) => {
  const exchange = await exchangeOf(...fields)
  await stage.handle(exchange, async () => {})
  return exchange
}

t.test('form: an inline file is a data URL of the type that its content has', async t => {
  for (const [content, declared, expected] of [
    [PNG, 'image/png', 'image/png'],
    [PNG, '', 'image/png'],
    ['\xff\xd8\xff', 'image/png', 'image/jpeg'],
    ['RIFF....WEBPVP8', 'application/octet-stream', 'image/webp'],
    ['GIF89a', 'image/gif', 'image/gif'],
    ['a text', '', 'application/octet-stream'],
  ] as const) {
    const bytes = Buffer.from(content as string, 'latin1')
    const { request, slots } = await parse(
      ['prompt', 'a cat'],
      ['image', new File([bytes], 'a', { type: declared })],
    )
    const url = `data:${expected};base64,${bytes.toString('base64')}`
    const body = { prompt: 'a cat', image: { image_url: url } }
    t.same(await request.json(), body)
    t.match(slots.get(EXPANDED_REQUEST), { body, longer: true })
    t.equal(slots.get(FILES), bytes.length)
  }
})

t.test('form: a member of an inline file is set as text, however long', async t => {
  const url = `data:image/png;base64,${'A'.repeat(300 * 1024)}`
  const { request } = await parse(['image[image_url]', url])
  t.same(await request.json(), { image: { image_url: url } })
})

t.test('form: an inline file occurs once, and is not text', async t => {
  const file = new File([PNG], 'a.png')
  for (const [fields, code] of [
    [
      [
        ['image', file],
        ['image', file],
      ],
      'FORM_TWICE',
    ],
    [
      [
        ['image', file],
        ['image[image_url]', 'https://a/'],
      ],
      'FORM_TWICE',
    ],
    [[['image', 'https://a/']], 'FORM_TEXT'],
    [[['image[image_url]', file]], 'FORM_FILE'],
  ] as const) {
    const exchange = await exchangeOf(...fields)
    const fault = await errorFrom(() => stage.handle(exchange, noNext))
    t.match(fault, { code, status: 400, param: 'image' })
  }
})

t.test('form: without inline a field with brackets stays a text of that name', async t => {
  const plain = form.setup({ files: ['image'] })
  const exchange = await exchangeOf(['image[image_url]', 'https://a/'])
  await plain.handle(exchange, async () => {})
  t.same(await exchange.request.json(), { 'image[image_url]': 'https://a/' })
  t.equal(exchange.slots.get(EXPANDED_REQUEST), undefined)
})
