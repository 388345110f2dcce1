"""Common first names and surnames of the eight languages, to recognise columns of names.

The lists are short: in a column of names, a good share of the values is on them, and in any other
column hardly any. Names that are also common words or towns are left out.
"""

from covey.inspection.words import folded

_FIRST = """
    james john robert michael david william richard joseph thomas charles christopher daniel matthew
    anthony donald steven paul andrew joshua kenneth kevin brian george edward ronald timothy jason
    jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin scott brandon benjamin samuel
    gregory frank alexander raymond patrick jack dennis jerry tyler aaron henry peter adam nathan
    douglas zachary walter kyle harold carl arthur roger keith jeremy terry lawrence sean albert
    mary patricia jennifer linda elizabeth barbara susan jessica sarah karen nancy lisa betty margaret
    sandra ashley kimberly emily donna michelle carol amanda dorothy melissa deborah stephanie rebecca
    sharon laura cynthia kathleen amy angela shirley anna brenda pamela emma nicole helen samantha
    katherine christine debra rachel carolyn janet catherine maria heather diane ruth julie olivia
    joyce virginia kelly lauren christina joan evelyn judith megan andrea cheryl hannah jacqueline
    martha gloria teresa ann sara madison frances kathryn janice jean alice abigail julia judy sophia
    grace denise amber marilyn danielle isabella diana natalie brittany charlotte marie kayla alexis
    oliver harry noah leo oscar theo freddie alfie archie ethan lucas liam mason logan amelia isla ava
    mia ivy lily freya florence evie chloe ella lucy daisy poppy owen ellen annie ada edith mabel agnes
    hans peter wolfgang klaus juergen dieter manfred uwe guenter horst bernd frank stefan andreas
    thomas michael juergen matthias markus ralf joerg sven torsten holger heinz karl werner gerhard
    helmut walter heinrich friedrich otto hermann ernst rolf axel rainer volker jens dirk olaf kai
    tobias sebastian florian christian philipp lukas felix jonas finn elias moritz maximilian niklas
    ursula karin helga sabine ingrid renate monika susanne gisela petra birgit andrea christa brigitte
    erika elke heike gabriele silke anja katrin claudia martina barbara kerstin ulrike ute angelika
    hannelore waltraud hildegard gertrud lieselotte anneliese elfriede marlies franziska katharina
    johanna lena leonie lea sophie marie emilia hanna clara greta frieda mathilda jana nina sonja
    jean pierre michel andre philippe alain rene bernard jacques daniel claude christophe laurent
    nicolas patrick gerard christian francois stephane olivier eric pascal frederic sebastien julien
    thierry dominique bruno guillaume antoine mathieu vincent maxime alexandre romain hugo louis
    gabriel jules arthur raphael lucas adam theo nathan marcel henri etienne yves guy didier gilles
    marie jeanne francoise monique catherine nathalie isabelle jacqueline sylvie anne martine madeleine
    nicole valerie helene christine stephanie veronique sandrine celine chantal brigitte aurelie julie
    emilie camille lea manon chloe emma ines jade louise alice lina juliette zoe elodie sophie claire
    caroline pauline mathilde marion laure genevieve odette simone yvette colette josette corinne
    antonio jose manuel francisco juan david javier daniel carlos jesus alejandro miguel rafael pedro
    pablo angel sergio fernando jorge luis alberto alvaro diego adrian raul enrique ivan ruben ramon
    vicente oscar andres joaquin santiago eduardo victor mario roberto jaime ignacio alfonso hector
    gonzalo guillermo salvador julio emilio tomas agustin felix gregorio cesar rodrigo mateo
    carmen josefa isabel dolores pilar teresa ana francisca laura antonia mercedes cristina marta
    concepcion elena lucia rosa rosario juana raquel manuela sara beatriz encarnacion patricia rocio
    silvia montserrat angeles alba nuria sonia margarita susana yolanda inmaculada esther noelia
    amparo eva ines martina valentina camila gabriela daniela mariana paola consuelo esperanza
    giuseppe giovanni antonio mario luigi francesco angelo vincenzo pietro salvatore carlo franco
    domenico bruno paolo michele giorgio aldo sergio luciano marco andrea stefano roberto alessandro
    matteo lorenzo davide simone fabio luca riccardo gianluca claudio massimo enrico federico giacomo
    leonardo tommaso edoardo filippo gabriele emanuele raffaele renato umberto ettore
    anna giuseppina rosa angela giovanna teresa lucia carmela caterina francesca paola laura chiara
    giulia sara valentina federica martina silvia elena alessandra ilaria roberta stefania simona
    cristina barbara daniela monica patrizia antonella concetta assunta filomena beatrice ginevra
    aurora alice emma ludovica vittoria bianca matilde noemi arianna elisa serena
    jan johannes cornelis hendrik willem pieter gerrit jacobus jacob dirk adrianus petrus martinus
    jeroen maarten bart thijs sander daan bram sem lars milan finn luuk ruben tim jesse stijn gijs
    wouter joost koen niels erik henk kees piet arie bas rutger sjoerd hans rob wim theo frans
    johanna maria anna cornelia elisabeth wilhelmina hendrika catharina margaretha adriana petronella
    sanne lotte fleur femke anouk iris eva sophie julia tess lieke anneke marijke ingrid saskia
    marieke esther monique wilma ria truus greetje jantje trijntje tineke hanneke mieke els ans
    joao antonio jose manuel francisco carlos luis pedro paulo miguel jorge rui nuno tiago ricardo
    bruno andre hugo goncalo diogo rodrigo duarte martim tomas afonso guilherme vasco fernando joaquim
    armando vitor alexandre filipe marcelo gustavo leandro thiago felipe mateus henrique
    maria ana margarida joana ines beatriz mariana carolina matilde leonor catarina sofia marta
    helena isabel teresa fatima lurdes conceicao graca rosa luisa paula sandra susana carla patricia
    monica filipa rita raquel claudia fernanda juliana larissa aline bruna vanessa adriana
    jan andrzej piotr krzysztof stanislaw tomasz pawel jozef marcin marek michal grzegorz jerzy tadeusz
    adam lukasz zbigniew ryszard dariusz henryk mariusz kazimierz wojciech robert mateusz marian rafal
    jacek janusz miroslaw maciej slawomir jaroslaw kamil wieslaw roman wladyslaw jakub artur zdzislaw
    edward mieczyslaw damian dawid przemyslaw sebastian leszek bartosz szymon filip
    anna maria katarzyna malgorzata agnieszka krystyna barbara ewa elzbieta zofia janina teresa joanna
    magdalena monika jadwiga danuta irena halina helena beata aleksandra marta dorota marianna grazyna
    jolanta stanislawa iwona karolina bozena urszula justyna renata alicja paulina sylwia natalia
    wanda agata aneta izabela ewelina marzena wieslawa genowefa patrycja kazimiera edyta stefania
    mohammed muhammad mohamed ahmed ali omar hassan ibrahim yusuf mustafa mehmet fatima aisha zeynep
    fatma ayse emine khadija leila nadia yasmin amina wei ming li chen raj priya arjun ravi sanjay
    ivan dmitri sergei olga svetlana natasha igor vladimir tatiana yuki hiroshi kenji
"""

_LAST = """
    smith johnson williams brown jones garcia miller davis rodriguez martinez hernandez lopez gonzalez
    wilson anderson taylor moore jackson martin lee perez thompson harris clark lewis robinson walker
    young allen wright hill flores green adams nelson baker campbell mitchell carter roberts evans
    turner parker collins edwards stewart morris murphy cook rogers morgan peterson cooper reed bailey
    patel khan hughes shaw ward
    mueller schmidt schneider fischer weber meyer wagner becker schulz hoffmann schaefer koch bauer
    richter klein wolf schroeder neumann schwarz zimmermann braun krueger hofmann hartmann lange
    schmitt werner krause meier lehmann schmid schulze maier koehler herrmann koenig walter mayer huber
    kaiser fuchs peters lang scholz moeller weiss jung hahn vogel friedrich keller guenther winkler
    bernard dubois thomas robert petit durand leroy moreau simon laurent lefebvre michel bertrand roux
    vincent fournier morel girard andre lefevre mercier dupont lambert bonnet francois martinez legrand
    garnier faure rousseau blanc guerin muller henry roussel nicolas perrin morin mathieu clement
    sanchez fernandez gomez martin jimenez ruiz diaz moreno munoz alvarez romero alonso gutierrez
    navarro torres dominguez vazquez ramos gil ramirez serrano molina blanco morales suarez ortega
    delgado castro ortiz rubio marin sanz iglesias medina garrido cortes castillo santos lozano guerrero
    rossi russo ferrari esposito bianchi romano colombo ricci marino greco bruno gallo conti costa
    giordano mancini rizzo lombardi moretti barbieri fontana santoro mariani rinaldi caruso ferrara
    galli martini leone longo gentile martinelli vitale lombardo serra coppola marchetti parisi villa
    jansen vries berg bakker dijk visser smit meijer boer mulder groot bos vos peters hendriks leeuwen
    dekker brouwer wit dijkstra smits graaf meer linden kok jacobs haan vermeulen heuvel veen broek
    silva santos ferreira pereira oliveira costa rodrigues martins jesus sousa fernandes goncalves
    gomes lopes marques alves almeida ribeiro pinto carvalho teixeira moreira correia mendes nunes
    soares vieira monteiro cardoso rocha neves coelho cruz cunha pires ramos reis simoes antunes
    nowak kowalski kowalska wisniewski wisniewska wojcik kowalczyk kaminski kaminska lewandowski
    lewandowska zielinski zielinska szymanski szymanska wozniak dabrowski dabrowska kozlowski kozlowska
    jankowski jankowska mazur kwiatkowski krawczyk kaczmarek piotrowski grabowski pawlowski michalski
    nguyen wang zhang liu yang singh kumar sharma yilmaz kaya demir sahin ivanov petrov
"""

NAMES = frozenset(folded(name) for name in f"{_FIRST} {_LAST}".split())
