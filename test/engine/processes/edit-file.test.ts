/** The file that a change of the configuration belongs to. */
import t from 'tap'
import { editFile } from '../../../engine/processes/builder/edit-file.ts'

const files = {
  'routes.yaml': 'upstreams: { a: {}, b: {}, c: {} }\n',
  'models/a.yaml': 'models:\n  a1: { to: a/1 }\n  a2: { to: a/2 }\n  b0: { to: [b/0, a/0] }\n',
  'models/b.yaml': 'models:\n  b1: { to: b/1 }\n  b2: { to: b/2 }\n',
  'notes.yaml': '# b/1 b/2 b/3 b/4\n',
  'tollgate:models.yaml': 'models: { b3: { to: b/3 }, b4: { to: b/4 }, b5: { to: b/5 } }\n',
}
const fileFor = (name: string, upstream: string) =>
  editFile(files, {
    changes: [{ path: ['models', name], value: { to: `${upstream}/x` } }],
    isNew: true,
    near: `${upstream}/`,
  }).file

t.test('changed file: a new model goes to the models of its upstream', async t => {
  t.equal(fileFor('x', 'a'), 'models/a.yaml')
  t.equal(fileFor('x', 'b'), 'models/b.yaml')
  t.equal(fileFor('x', 'c'), 'models/a.yaml', 'without any, to the first file that has models')
})

t.test('changed file: an entry that exists is found wherever it is', async t => {
  t.throws(() => fileFor('a1', 'b'), { code: 'EDIT_EXISTS', message: /models\/a\.yaml/ })
})
