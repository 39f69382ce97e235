/** Image models without edits refuse images on the edit endpoint and in chat, in any encoding,
 *  without an upstream call or a charge. A request without a model is for the default one. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { totalCharged } from './audio.ts'
import { gateway, key, sentCalls, upstream } from './shipped-gateway.ts'

const headers = { authorization: `Bearer ${key}` }
const post = async (path: string, body: object | FormData) => {
  const options =
    body instanceof FormData
      ? { headers, body }
      : {
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }
  const response = await fetch(gateway.url + path, { method: 'POST', ...options })
  const { error } = (await response.json()) as { readonly error?: object }
  return { status: response.status, ...error }
}
const image_url = 'data:image/png;base64,iVBORw0KGgo='
const formOf = (model: string | undefined, files: readonly string[]): FormData => {
  const form = new FormData()
  if (model !== undefined) form.set('model', model)
  form.set('prompt', 'with a hat')
  for (const name of files)
    form.append(name, new Blob([new Uint8Array(8)], { type: 'image/png' }), 'a.png')
  return form
}
const EDITS = '/v1/images/edits'
const request = { prompt: 'with a hat' }

for (const model of ['flux-1.1-pro', 'dall-e-3'])
  t.test(`image edits: ${model} refuses an image`, async t => {
    const before = await totalCharged()
    const content = [
      { type: 'text', text: 'with a hat' },
      { type: 'image_url', image_url: { url: image_url } },
    ]
    for (const [what, path, body, param] of [
      [
        'in a conversation',
        '/v1/chat/completions',
        { model, messages: [{ role: 'user', content }] },
        'messages[0].content[1]',
      ],
      ['as JSON', EDITS, { model, ...request, images: [{ image_url }] }, 'images[0]'],
      ['in a form', EDITS, formOf(model, ['image']), 'image'],
      ['several in a form', EDITS, formOf(model, ['image[]', 'image[]']), 'image'],
      ['with a mask', EDITS, formOf(model, ['image', 'mask']), 'image'],
    ] as const)
      t.match(
        await post(path, body),
        { status: 400, param, message: `'${param}': an image cannot be sent to this model.` },
        what,
      )
    t.same(await sentCalls(), [], 'no upstream request')
    t.equal(await totalCharged(), before, 'nothing charged')
  })

t.test('image edits: a model with edits still edits', async t => {
  const imageAnswer = plain({ created: 7, data: [{ b64_json: 'AAAA' }] })
  for (const body of [
    { model: 'gp-4o-image', ...request, images: [{ image_url }] },
    formOf('gp-4o-image', ['image']),
  ]) {
    await upstream.forget()
    await upstream.script('gp', [{ do: 'body' }, imageAnswer])
    t.match(await post(EDITS, body), { status: 200 })
    const [request] = await upstream.events('request', 'gp')
    t.equal(request?.head.target, '/s/gp/v1/images/edits')
  }
})

t.test('images: a request that names no model is for dall-e-2', async t => {
  const form = formOf(undefined, ['image'])
  for (const [path, body] of [
    ['/v1/images/generations', { prompt: 'a cat' }],
    [EDITS, { ...request, images: [{ image_url }] }],
    [EDITS, form],
  ] as const) {
    await upstream.forget()
    const before = await totalCharged()
    await upstream.script('gp', [{ do: 'body' }, plain({ created: 7, data: [{ url: image_url }] })])
    t.match(await post(path, body), { status: 200 })
    const [upstreamBody] = await upstream.events('body', 'gp')
    const text = Buffer.from(upstreamBody?.body.bytes ?? []).toString('latin1')
    t.match(text, body === form ? /name="model"\r\n\r\ndall-e-2\r\n--/ : /"model":"dall-e-2"/)
    t.match(text, /a cat|with a hat/, 'the rest stays')
    // 0.02 USD at 7.2 CNY.
    t.equal(Number(await totalCharged()) - Number(before), 144_000_000)
  }
})
