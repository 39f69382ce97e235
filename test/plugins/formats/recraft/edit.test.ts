/** Image edits of Recraft: the fields of their forms, and what a mask excludes. */
import t from 'tap'
import type { Media } from '../../../../plugins/formats/hub/content.ts'
import { editRequest } from '../../../../plugins/formats/recraft/edit.ts'

const IMAGE: Media = {
  type: 'media',
  kind: 'image',
  source: { type: 'data', data: 'iVBORw0KGgo=', mime: 'image/png' },
}
const edit = (members: object) => {
  const dropped: string[] = []
  const add = (name: string) => dropped.push(name)
  const { path, body, headers } = editRequest(
    IMAGE,
    undefined,
    members as never,
    { add } as never,
  )(2)
  const text = Buffer.from(body as Uint8Array).toString('latin1')
  const fields = [...text.matchAll(/name="(\w+)"\r\n\r\n([^\r]*)\r\n/g)].map(
    ([, name, value]) => [name, value] as const,
  )
  return { path, headers, dropped, fields: Object.fromEntries(fields) }
}

t.test('Recraft edit: texts are fields unchanged, other values are JSON', async t => {
  const { path, fields, headers } = edit({ prompt: 'a cat', controls: { colors: [1] } })
  t.equal(path, '/v1/images/imageToImage')
  t.same(fields, { strength: '0.5', prompt: 'a cat', controls: '{"colors":[1]}', n: '2' })
  t.match(headers, { 'content-type': /^multipart\/form-data; boundary=/ })
})

t.test('Recraft edit: an own strength counts, a size is dropped', async t => {
  const { dropped, fields } = edit({ strength: 0.2, size: '1x1' })
  t.same(dropped, ['size'])
  t.match(fields, { strength: '0.2' })
})
