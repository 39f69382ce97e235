/** Programs of the frameworks' users: an agent with one tool, which runs a shell command, in each
 *  client format that the framework has. Each prints one line for an agent's answer. */

/** Chat, Responses, Messages and Gemini. */
export const PYDANTIC_AI = `
import asyncio, os, subprocess
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
url, key = os.environ['GATEWAY_URL'], os.environ['GATEWAY_KEY']
openai = OpenAIProvider(base_url=f'{url}/v1', api_key=key)
MODELS = [
    OpenAIChatModel('agent-model', provider=openai),
    OpenAIResponsesModel('agent-model', provider=openai),
    AnthropicModel('agent-model', provider=AnthropicProvider(base_url=url, api_key=key)),
    GoogleModel('agent-model', provider=GoogleProvider(base_url=url, api_key=key)),
]
async def main():
    for model in MODELS:
        agent = Agent(model)
        @agent.tool_plain
        def bash(command: str) -> str:
            """Runs a shell command."""
            return subprocess.check_output(command, shell=True, text=True)
        print((await agent.run(os.environ['PROMPT'])).output)
asyncio.run(main())
`

/** Chat and Responses, plain and streamed. */
export const OPENAI_AGENTS = `
import asyncio, os, subprocess
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ['GATEWAY_URL'] + '/v1', api_key=os.environ['GATEWAY_KEY'])
@function_tool
def bash(command: str) -> str:
    """Runs a shell command."""
    return subprocess.check_output(command, shell=True, text=True)
async def main():
    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        agent = Agent(name='reader', tools=[bash], model=kind(model='agent-model', openai_client=client))
        print((await Runner.run(agent, os.environ['PROMPT'])).final_output)
        streamed = Runner.run_streamed(agent, os.environ['PROMPT'])
        async for _ in streamed.stream_events():
            pass
        print(streamed.final_output)
asyncio.run(main())
`

/** Chat, Responses and Messages, plain and streamed. */
export const LANGCHAIN_PYTHON = `
import os, subprocess
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
url, key = os.environ['GATEWAY_URL'], os.environ['GATEWAY_KEY']
def bash(command: str) -> str:
    """Runs a shell command."""
    return subprocess.check_output(command, shell=True, text=True)
openai = {'model': 'agent-model', 'base_url': f'{url}/v1', 'api_key': key, 'max_retries': 0}
MODELS = [
    ChatOpenAI(**openai),
    ChatOpenAI(**openai, use_responses_api=True),
    ChatAnthropic(model='agent-model', base_url=url, api_key=key, max_retries=0),
]
for model in MODELS:
    agent = create_agent(model, tools=[bash])
    messages = [{'role': 'user', 'content': os.environ['PROMPT']}]
    print(agent.invoke({'messages': messages})['messages'][-1].text)
    for state in agent.stream({'messages': messages}, stream_mode='values'):
        last = state['messages'][-1]
    print(last.text)
`

/** Chat, Responses, Messages and Gemini, plain and streamed. */
export const AI_SDK = `
import { execSync } from 'node:child_process'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
const { GATEWAY_URL: url, GATEWAY_KEY: apiKey, PROMPT: prompt } = process.env
const openai = createOpenAI({ baseURL: url + '/v1', apiKey })
const models = [
  openai.chat('agent-model'),
  openai.responses('agent-model'),
  createAnthropic({ baseURL: url + '/v1', apiKey })('agent-model'),
  createGoogleGenerativeAI({ baseURL: url + '/v1beta', apiKey })('agent-model'),
]
const bash = tool({
  description: 'Runs a shell command.',
  inputSchema: z.object({ command: z.string() }),
  execute: async ({ command }) => execSync(command).toString(),
})
for (const model of models) {
  const options = { model, prompt, tools: { bash }, stopWhen: stepCountIs(4), maxRetries: 0 }
  console.log((await generateText(options)).text)
  console.log(await streamText(options).text)
}
`

/** Chat, Responses and Messages, plain and streamed. */
export const LANGCHAIN_JS = `
import { execSync } from 'node:child_process'
import { ChatAnthropic } from '@langchain/anthropic'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
const { GATEWAY_URL: url, GATEWAY_KEY: apiKey, PROMPT: content } = process.env
const bash = tool(({ command }) => execSync(command).toString(), {
  name: 'bash',
  description: 'Runs a shell command.',
  schema: z.object({ command: z.string() }),
})
const openai = { model: 'agent-model', apiKey, maxRetries: 0, configuration: { baseURL: url + '/v1' } }
const models = [
  new ChatOpenAI(openai),
  new ChatOpenAI({ ...openai, useResponsesApi: true }),
  new ChatAnthropic({ model: 'agent-model', apiKey, anthropicApiUrl: url, maxRetries: 0 }),
]
for (const model of models) {
  const agent = createAgent({ model, tools: [bash] })
  const messages = [{ role: 'user', content }]
  console.log((await agent.invoke({ messages })).messages.at(-1).text)
  let last
  for await (const state of await agent.stream({ messages }, { streamMode: 'values' })) last = state
  console.log(last.messages.at(-1).text)
}
`

/** Chat, Responses and Messages, plain and streamed. */
export const MASTRA = `
import { execSync } from 'node:child_process'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
const { GATEWAY_URL: url, GATEWAY_KEY: apiKey, PROMPT: prompt } = process.env
const openai = createOpenAI({ baseURL: url + '/v1', apiKey })
const models = [openai.chat('agent-model'), openai.responses('agent-model'), createAnthropic({ baseURL: url + '/v1', apiKey })('agent-model')]
const bash = createTool({
  id: 'bash',
  description: 'Runs a shell command.',
  inputSchema: z.object({ command: z.string() }),
  outputSchema: z.string(),
  execute: async input => execSync((input.context ?? input).command).toString(),
})
for (const model of models) {
  const agent = new Agent({ id: 'reader', name: 'reader', instructions: 'You read files.', model, tools: { bash } })
  console.log((await agent.generate(prompt)).text)
  console.log(await (await agent.stream(prompt)).text)
}
process.exit(0)
`
