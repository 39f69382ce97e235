/** Image models without edits refuse images on the edit endpoint and in chat, in any encoding,
 *  without an upstream call or a charge. */
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { totalCharged } from './audio.ts'
import { gateway, key, upstream } from './shipped-gateway.ts'

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
const formOf = (model: string, files: readonly string[]): FormData => {
  const form = new FormData()
  form.set('model', model)
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
    t.same(await upstream.seen('request'), [], 'no upstream request')
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
    const [request] = await upstream.seen('request', 'gp')
    t.equal(request?.head.target, '/s/gp/v1/images/edits')
  }
})
