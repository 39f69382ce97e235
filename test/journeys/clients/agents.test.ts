/** Agent command lines, unmodified, run a loop of two steps through the gateway on every target
 *  format: the model calls their shell, and reads its result. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { scaled } from '../../helpers/machine-speed.ts'
import { LONG } from '../../helpers/run-settings.ts'
import { PROMPT, routesTo, TARGETS } from './agent-routes.ts'
import { AGENTS, install, runAgent } from './agents.ts'
import { FILE, startToolLoop, WORD } from './tool-loop-upstream.ts'

const git = promisify(execFile)
t.setTimeout(scaled(1_200_000))
for (const agent of AGENTS)
  t.test(
    `agents: ${agent.name} ${agent.version} runs a tool loop on every target`,
    { skip: !LONG && 'it is large: the long form installs it' },
    async t => {
      const command = await install(agent)
      if (!command)
        return void t.pass(`${agent.package} ${agent.version} could not be installed here`, {
          skip: 'the registry does not have it',
        })
      for (const target of TARGETS)
        await t.test(target, async t => {
          const upstream = await startToolLoop(t, target)
          const server = await startGateway({ routes: routesTo(upstream.url, target) })
          t.teardown(() => server.stop())
          const gateway = { url: server.url, key: await server.key() }
          const folder = t.testdir({ work: { [FILE]: `The word is ${WORD}.\n` }, home: {} })
          const cwd = join(folder, 'work')
          await git('git', ['init', '--quiet'], { cwd })
          await git('git', ['add', FILE], { cwd })
          const result = await runAgent(agent, {
            command,
            home: join(folder, 'home'),
            cwd,
            prompt: agent.prompt ?? PROMPT,
            gateway,
          })
          t.match(result.output, WORD, 'the user reads the word')
          t.ok(upstream.calls.length > 0, 'the model asked for the file')
          // The line of a socket is written when it closes.
          const usesSocket = agent.name.includes('WebSocket')
          const hasLine = () => server.output().includes('"route":"socket"')
          for (let tries = 0; usesSocket && !hasLine() && tries < 200; tries++)
            await new Promise(resolve => setTimeout(resolve, 50))
          t.equal(hasLine(), usesSocket, 'its transport')
          t.same(upstream.problems, [])
          if (!t.passing()) t.comment(result.output.slice(-3_000))
        })
    },
  )
