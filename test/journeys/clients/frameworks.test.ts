/** Frameworks for agents, unmodified, run a loop of two steps through the gateway on every target
 *  format, in each client format that they have: the model calls their tool and reads its
 *  result. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { PROMPT, routesTo, TARGETS } from './agent-routes.ts'
import { FRAMEWORKS, installFramework, runFramework } from './frameworks.ts'
import { FILE, startToolLoop, WORD } from './tool-loop-upstream.ts'

t.setTimeout(scaled(1_200_000))
for (const framework of FRAMEWORKS)
  t.test(
    `frameworks: ${framework.name} runs a tool loop on every target`,
    { skip: !LONG && 'it is large: the long form installs it' },
    async t => {
      const command = await installFramework(framework)
      if (!command)
        return void t.pass(`${framework.name} could not be installed here`, {
          skip: 'the registry does not have it',
        })
      for (const target of TARGETS)
        await t.test(target, async t => {
          const upstream = await startToolLoop(t, target)
          const server = await startGateway({ routes: routesTo(upstream.url, target) })
          t.teardown(() => server.stop())
          const gateway = { url: server.url, key: await server.key() }
          const cwd = t.testdir({})
          writeFileSync(join(cwd, FILE), `The word is ${WORD}.\n`)
          const { output, errors } = await runFramework(command, { cwd, prompt: PROMPT, gateway })
          const { length } = output.match(new RegExp(WORD, 'g')) ?? []
          t.equal(length, framework.answers, 'each agent answers with the word')
          t.equal(upstream.calls.length, framework.answers, 'each called the tool')
          t.same(upstream.problems, [])
          if (!t.passing()) t.comment(`${output}\n${errors.slice(-3_000)}`)
        })
    },
  )
